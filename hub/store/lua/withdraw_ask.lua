-- Withdraw an open ask of the running turn. One that is settled already stays settled.
-- ARGV: 4 turn id  5 fence  6 ask id  7 reason (a JSON string's inside)
local tid, aid = ARGV[4], ARGV[6]
if not owns(tid, ARGV[5]) then return { 'fenced' } end
local ask = redis.call('HMGET', asks_key, aid .. ':state', aid .. ':turn')
if ask[2] ~= tid then return { 'missing' } end
if ask[1] ~= 'open' then return { ask[1] } end
redis.call('HSET', turn_key, 'open', without(turn_fields('open')[1], aid))
withdraw(tid, aid, ARGV[7])
flush()
return { 'ok' }
