-- Drop deltas of blocks whose durable text is written: a very long turn stays bounded.
-- ARGV: 4 turn id  5 fence  6… the numbers of the events, rising
local tid = ARGV[4]
if not owns(tid, ARGV[5]) then return { 'fenced' } end
local ids = {}
for i = 6, #ARGV do ids[#ids + 1] = ARGV[i] .. '-0' end
redis.call('XDEL', live_key(tid), unpack(ids))
redis.call('HSET', turn_key, 'trimmed', ARGV[#ARGV])
return { 'ok' }
