-- Withdraw an open ask of the running turn. One that is settled already stays settled.
-- ARGV: 4 turn id  5 fence  6 ask id  7 reason (a JSON string's inside)
local tid, aid = ARGV[4], ARGV[6]
if not owns(tid, ARGV[5]) then return { 'fenced' } end
local state = redis.call('HGET', asks_key, aid .. ':state')
if not state then return { 'missing' } end
if state ~= 'open' then return { state } end
redis.call('HSET', turn_key, 'open', without(turn_fields('open')[1], aid))
withdraw(tid, aid, ARGV[7])
flush()
return { 'ok' }
