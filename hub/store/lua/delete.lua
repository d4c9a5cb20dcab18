-- Forget a session. With a turn in flight only by force; its runner then finds itself fenced.
-- ARGV: 4 '1' by force  5 request id  6 how long that is remembered, seconds
local known = recall_request('deleted', tonumber(ARGV[6]))
if known and known[2] == ARGV[5] then return { 'ok' } end -- the first reply was lost
if redis.call('EXISTS', session_key) == 0 then return { 'missing' } end
local held = turn_fields('id', 'started_at', 'state', 'runner', 'open')
if held[1] and ARGV[4] ~= '1' then return { 'busy', held[1], held[2], held[3] } end
if held[1] then
  tell_runner(held[4], 'cancel ' .. sid .. ' ' .. held[1])
  redis.call('DEL', live_key(held[1]))
  for aid in string.gmatch(held[5], '%S+') do redis.call('ZREM', pending_key, aid) end
end
for _, name in ipairs(redis.call('HKEYS', distill_key)) do
  local tid = string.match(name, '^(.*):first$')
  if tid then redis.call('ZREM', undistilled_key, sid .. ' ' .. tid) end
end
redis.call('DEL', session_key, log_key, turn_key, asks_key, queue_key, idem_key, last_key, grants_key, distill_key,
  memory_key, outputs_key, kept_key)
remember_request('deleted', ARGV[5], ARGV[6], 1)
redis.call('ZREM', sessions_key, sid)
redis.call('ZREM', leases_key, sid)
redis.call('PUBLISH', channel, '')
hint('session', ',"state":"deleted"')
return { 'ok' }
