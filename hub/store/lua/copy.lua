-- Create a session with a log that is given: a fork, or an import. Repeated with the same id: the one that is there.
-- ARGV: 4 request id  5 how many grants it has from the start  6… the grants, id and JSON in turn; then how many
--       words its fields are, and fields, name and value in turn; then events: number, type, turn id or '', frame
if redis.call('EXISTS', session_key) == 1 then
  return { redis.call('HGET', session_key, 'request') == ARGV[4] and 'ok' or 'exists' }
end
redis.call('HSET', session_key, 'fence', '0', 'request', ARGV[4])
local count = 6 + 2 * tonumber(ARGV[5])
for i = 6, count - 1, 2 do redis.call('HSET', grants_key, ARGV[i], ARGV[i + 1]) end
local events = count + 1 + tonumber(ARGV[count])
for i = count + 1, events - 1, 2 do redis.call('HSET', session_key, ARGV[i], ARGV[i + 1]) end
for i = events, #ARGV, 4 do
  redis.call('XADD', log_key, ARGV[i] .. '-0', 'f', ARGV[i + 3], 't', ARGV[i + 2])
  if ARGV[i + 1] == 'turn_distilled' or ARGV[i + 1] == 'distill_failed' then -- the memory is read alone
    redis.call('XADD', memory_key, ARGV[i] .. '-0', 'f', ARGV[i + 3], 't', ARGV[i + 2])
  end
end
redis.call('HSET', session_key, 'seq', ARGV[#ARGV - 3])
redis.call('ZADD', sessions_key, int(now), sid)
hint('session', ',"state":"created"')
return { 'ok' }
