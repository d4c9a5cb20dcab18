-- Take a grant back. Repeated, or without such a grant: nothing to be done.
-- ARGV: 4 the grant's id  5 the event's body
if redis.call('EXISTS', session_key) == 0 then return { 'missing' } end
if redis.call('HDEL', grants_key, ARGV[4]) == 0 then return { 'ok' } end
emit('', 'grant_revoked', true, false, ARGV[5])
flush()
return { 'ok' }
