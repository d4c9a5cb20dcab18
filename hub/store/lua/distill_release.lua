-- Let go of a claimed turn, undistilled: it is anybody's at once.
-- ARGV: 4 turn id  5 claim
local tid = ARGV[4]
if redis.call('HGET', distill_key, tid .. ':claim') ~= ARGV[5] then return { 'gone' } end
redis.call('HDEL', distill_key, tid .. ':claim')
redis.call('HINCRBY', distill_key, tid .. ':tries', -1)
redis.call('ZADD', undistilled_key, int(now), sid .. ' ' .. tid)
return { 'ok' }
