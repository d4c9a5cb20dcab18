-- Open an ask in the running turn; one that a rule answers is settled with it, and nobody ever sees it wait.
-- Repeated with the same id: already open.
-- ARGV: 4 turn id  5 fence  6 ask id  7 the ask (JSON)  8 the event's body
--       9 its settlement (JSON), or ''  10 that event's body
local tid, aid = ARGV[4], ARGV[6]
if not owns(tid, ARGV[5]) then return { 'fenced' } end
if redis.call('HEXISTS', asks_key, aid .. ':state') == 1 then return { 'ok' } end
local held = turn_fields('open', 'asks', 'answers')
local n = emit(tid, 'ask_opened', true, true, ARGV[8])
local settled = ARGV[9] ~= ''
redis.call('HSET', asks_key, aid .. ':state', settled and 'settled' or 'open', aid .. ':ask', ARGV[7],
  aid .. ':turn', tid, aid .. ':opened_at', at, aid .. ':seq', n)
redis.call('HSET', turn_key, 'asks', held[2] .. ' ' .. aid)
if settled then
  redis.call('HSET', asks_key, aid .. ':settlement', ARGV[9], aid .. ':settled_at', at)
  redis.call('HSET', turn_key, 'answers', held[3] .. ' ' .. aid)
  emit(tid, 'ask_settled', true, true, ARGV[10])
else
  redis.call('HSET', turn_key, 'open', held[1] .. ' ' .. aid)
  redis.call('ZADD', pending_key, int(now), aid)
end
flush()
hint_ask(aid, settled and 'settled' or 'open')
return { 'ok' }
