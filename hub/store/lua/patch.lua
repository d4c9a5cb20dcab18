-- Change what a person may change of a session. ARGV: 4… name and value in turn
if redis.call('EXISTS', session_key) == 0 then return { 'missing' } end
for i = 4, #ARGV, 2 do redis.call('HSET', session_key, ARGV[i], ARGV[i + 1]) end
redis.call('HSET', session_key, 'updated_at', at)
redis.call('ZADD', sessions_key, int(now), sid)
hint('session', ',"state":"changed"')
return { 'ok' }
