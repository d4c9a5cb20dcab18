-- Create a session. Repeated with the same id (an idempotency key makes one): the session that is there.
-- ARGV: 4 request id  5 the event's body  6 how many grants it has from the start
--       7… the grants, id and JSON in turn; then fields of the session, name and value in turn
if redis.call('EXISTS', session_key) == 1 then
  return { redis.call('HGET', session_key, 'request') == ARGV[4] and 'ok' or 'exists' }
end
redis.call('HSET', session_key, 'seq', '0', 'fence', '0', 'request', ARGV[4])
local fields = 7 + 2 * tonumber(ARGV[6])
for i = 7, fields - 1, 2 do redis.call('HSET', grants_key, ARGV[i], ARGV[i + 1]) end
for i = fields, #ARGV, 2 do redis.call('HSET', session_key, ARGV[i], ARGV[i + 1]) end
emit('', 'session_created', true, false, ARGV[5])
flush()
hint('session', ',"state":"created"')
return { 'ok' }
