-- Write what was made of a claimed turn; it waits no more. Whoever has lost the claim writes nothing. The title
-- counts for a completed turn of a session that never had one.
-- ARGV: 4 turn id  5 claim  6 title or ''  7… type, body in turn
local tid = ARGV[4]
local mine = tid .. ' ' .. ARGV[5]
if redis.call('HGET', last_key, 'distilled') == mine then return { 'ok' } end -- the first reply was lost
if redis.call('HGET', distill_key, tid .. ':claim') ~= ARGV[5] then return { 'gone' } end
for i = 7, #ARGV, 2 do memorize(tid, ARGV[i], ARGV[i + 1]) end
local held = redis.call('HMGET', session_key, 'title', 'titled')
if ARGV[6] ~= '' and not held[2] and (held[1] or '') == ''
  and redis.call('HGET', distill_key, tid .. ':kind') == 'turn_completed' then
  redis.call('HSET', session_key, 'title', ARGV[6], 'titled', 'hub', 'updated_at', at)
  redis.call('ZADD', sessions_key, int(now), sid)
  hint('session', ',"state":"changed"')
end
for _, name in ipairs(waiting_facts) do redis.call('HDEL', distill_key, tid .. ':' .. name) end
redis.call('HDEL', distill_key, tid .. ':claim', tid .. ':tries')
redis.call('ZREM', undistilled_key, sid .. ' ' .. tid)
redis.call('HSET', last_key, 'distilled', mine)
if seq then flush() end
return { 'ok' }
