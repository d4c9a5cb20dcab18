-- Create a session with a log that is given: a fork, or an import. Repeated with the same id: the one that is there.
-- ARGV: 4 request id  5… three groups, each behind the number of its words: grants, id and JSON in turn; what the
--       last turn was, name and value in turn; fields of the session, likewise; then the events: number, type, turn
--       id or '', frame
if redis.call('EXISTS', session_key) == 1 then
  return { redis.call('HGET', session_key, 'request') == ARGV[4] and 'ok' or 'exists' }
end
redis.call('HSET', session_key, 'fence', '0', 'request', ARGV[4])
local place = 5
for _, key in ipairs({ grants_key, last_key, session_key }) do
  local after = place + 1 + tonumber(ARGV[place])
  for i = place + 1, after - 1, 2 do redis.call('HSET', key, ARGV[i], ARGV[i + 1]) end
  place = after
end
for i = place, #ARGV, 4 do
  redis.call('XADD', log_key, ARGV[i] .. '-0', 'f', ARGV[i + 3], 't', ARGV[i + 2])
  if ARGV[i + 1] == 'turn_distilled' or ARGV[i + 1] == 'distill_failed' then -- the memory is read alone
    redis.call('XADD', memory_key, ARGV[i] .. '-0', 'f', ARGV[i + 3], 't', ARGV[i + 2])
  end
end
redis.call('HSET', session_key, 'seq', ARGV[#ARGV - 3])
redis.call('ZADD', sessions_key, int(now), sid)
hint('session', ',"state":"created"')
return { 'ok' }
