-- Let go of a running turn: its lease is over at once, and whoever sweeps next takes it over.
-- ARGV: 4 turn id  5 fence
if not owns(ARGV[4], ARGV[5]) then return { 'fenced' } end
redis.call('ZADD', leases_key, int(now - 1), sid)
return { 'ok' }
