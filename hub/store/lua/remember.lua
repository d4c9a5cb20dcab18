-- Keep small values with the session for its transport.
-- ARGV: 4 turn id  5 fence  6… name and value in turn
if not owns(ARGV[4], ARGV[5]) then return { 'fenced' } end
for i = 6, #ARGV, 2 do redis.call('HSET', session_key, 'memory:' .. ARGV[i], ARGV[i + 1]) end
return { 'ok' }
