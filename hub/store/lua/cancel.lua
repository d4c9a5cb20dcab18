-- Ask for the running turn to be stopped; the first who asks is named.
-- ARGV: 4 by
local held = turn_fields('id', 'runner')
if redis.call('EXISTS', session_key) == 0 then return { 'missing' } end
if not held[1] then return { 'none' } end
redis.call('HSETNX', turn_key, 'cancel', ARGV[4])
tell_runner(held[2], 'cancel ' .. sid .. ' ' .. held[1])
return { 'ok', held[1] }
