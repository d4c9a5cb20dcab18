-- Settle an ask, once: the first writer wins over all processes and devices.
-- ARGV: 4 ask id  5 request id  6 the settlement (JSON)  7 the event's body  8 the id of the grant it makes, or ''
--       9 that grant (JSON)
local aid = ARGV[4]
local ask = redis.call('HMGET', asks_key, aid .. ':state', aid .. ':request', aid .. ':turn', aid .. ':reason')
if not ask[1] then return { 'missing' } end
if ask[2] == ARGV[5] then return { 'ok' } end
if ask[1] == 'withdrawn' then return { 'withdrawn', '"' .. ask[4] .. '"' } end
if ask[1] ~= 'open' then return { 'settled' } end
local tid = ask[3]
local held = turn_fields('id', 'open', 'answers', 'runner')
if held[1] ~= tid then return { 'withdrawn', '"the turn has ended"' } end
redis.call('HSET', asks_key, aid .. ':state', 'settled', aid .. ':request', ARGV[5], aid .. ':settlement', ARGV[6],
  aid .. ':settled_at', at)
if ARGV[8] ~= '' then redis.call('HSETNX', grants_key, ARGV[8], ARGV[9]) end
redis.call('HSET', turn_key, 'open', without(held[2], aid), 'answers', held[3] .. ' ' .. aid)
redis.call('ZREM', pending_key, aid)
emit(tid, 'ask_settled', true, true, ARGV[7])
flush()
hint_ask(aid, 'settled')
tell_runner(held[4], 'settled ' .. sid .. ' ' .. tid .. ' ' .. aid)
return { 'ok' }
