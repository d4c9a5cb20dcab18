-- Drop deltas of blocks whose durable text is written: a very long turn stays bounded.
-- ARGV: 4 turn id  5 fence  6… the numbers of the events, at most a few thousand
local tid = ARGV[4]
if not owns(tid, ARGV[5]) then return { 'fenced' } end
local highest, ids = tonumber(turn_fields('trimmed')[1] or '0'), {}
for i = 6, #ARGV do
  highest, ids[#ids + 1] = math.max(highest, tonumber(ARGV[i])), ARGV[i] .. '-0'
end
redis.call('HSET', turn_key, 'trimmed', int(highest))
redis.call('XDEL', live_key(tid), unpack(ids))
return { 'ok' }
