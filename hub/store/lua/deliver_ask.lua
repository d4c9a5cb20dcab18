-- The agent took a settlement. Repeated: already delivered.
-- ARGV: 4 turn id  5 fence  6 ask id  7 the event's body  8 the input of its call (JSON), or ''
local tid, aid = ARGV[4], ARGV[6]
if not owns(tid, ARGV[5]) then return { 'fenced' } end
local ask = redis.call('HMGET', asks_key, aid .. ':state', aid .. ':turn')
local state = ask[1]
if ask[2] ~= tid then return { 'missing' } end
if state == 'delivered' or state == 'closed' then return { 'ok' } end
if state ~= 'settled' then return { state } end
redis.call('HSET', asks_key, aid .. ':state', 'delivered', aid .. ':delivered_at', at)
if ARGV[8] ~= '' then redis.call('HSET', asks_key, aid .. ':effective', ARGV[8]) end
redis.call('HSET', turn_key, 'answers', without(turn_fields('answers')[1], aid))
emit(tid, 'ask_delivered', true, true, ARGV[7])
flush()
hint_ask(aid, 'delivered')
return { 'ok' }
