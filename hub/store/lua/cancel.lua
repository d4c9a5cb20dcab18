-- Ask for the running turn to be stopped; the first who asks is named. Repeated: the turn that it meant, which
-- may have ended since, and never the one that runs now.
-- ARGV: 4 by  5 request id
if redis.call('EXISTS', session_key) == 0 then return { 'missing' } end
local before = redis.call('HMGET', last_key, 'cancel_request', 'cancel_turn')
if before[1] == ARGV[5] then return { 'ok', before[2] } end
local held = turn_fields('id', 'runner')
if not held[1] then return { 'none' } end
redis.call('HSET', last_key, 'cancel_request', ARGV[5], 'cancel_turn', held[1])
stop_turn(held[1], held[2], ARGV[4])
return { 'ok', held[1] }
