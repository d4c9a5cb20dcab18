-- Open an ask in the running turn. Repeated with the same id: already open.
-- ARGV: 4 turn id  5 fence  6 ask id  7 the ask (JSON)  8 the event's body
local tid, aid = ARGV[4], ARGV[6]
if not owns(tid, ARGV[5]) then return { 'fenced' } end
if redis.call('HEXISTS', asks_key, aid .. ':state') == 1 then return { 'ok' } end
local held = turn_fields('open', 'asks')
local n = emit(tid, 'ask_opened', true, true, ARGV[8])
redis.call('HSET', asks_key, aid .. ':state', 'open', aid .. ':ask', ARGV[7], aid .. ':turn', tid,
  aid .. ':opened_at', at, aid .. ':seq', n)
redis.call('HSET', turn_key, 'open', held[1] .. ' ' .. aid, 'asks', held[2] .. ' ' .. aid)
redis.call('ZADD', pending_key, int(now), aid)
flush()
hint_ask(aid, 'open')
return { 'ok' }
