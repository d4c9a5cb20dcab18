-- Create a session. Repeated with the same id (an idempotency key makes one): the session that is there.
-- ARGV: 4 the event's body  5… fields of the session, name and value in turn
if redis.call('EXISTS', session_key) == 1 then return { 'exists' } end
for i = 5, #ARGV, 2 do redis.call('HSET', session_key, ARGV[i], ARGV[i + 1]) end
redis.call('HSET', session_key, 'seq', '0', 'fence', '0')
emit('', 'session_created', true, false, ARGV[4])
flush()
hint('session', ',"state":"created"')
return { 'ok' }
