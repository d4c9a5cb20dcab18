-- One instant: the session, its turn, asks and queue, and what was written after a cursor.
-- ARGV: 4 cursor  5 most entries of each stream  6 '1' with session, asks and queue  7… turns whose live
--       streams are wanted beside the running one's
local result = { redis.call('HGET', session_key, 'seq') }
if not result[1] then return { 'missing' } end
local after, most = '(' .. ARGV[4] .. '-0', ARGV[5]
local turn = redis.call('HGETALL', turn_key)
local tid = turn_fields('id')[1]
local lives, seen = {}, {}
local function live(id)
  if seen[id] then return end
  seen[id] = true
  lives[#lives + 1] = redis.call('XRANGE', live_key(id), after, '+', 'COUNT', most)
end
for i = 7, #ARGV do live(ARGV[i]) end
if tid then live(tid) end
result[2], result[3], result[4] = turn, redis.call('XRANGE', log_key, after, '+', 'COUNT', most), lives
if ARGV[6] == '1' then
  result[5], result[6] = redis.call('HGETALL', session_key), redis.call('HGETALL', asks_key)
  result[7] = redis.call('LRANGE', queue_key, 0, -1)
end
return { 'ok', unpack(result) }
