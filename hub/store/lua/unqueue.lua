-- Take a waiting message back. Repeated: taken back by this very request.
-- ARGV: 4 message id  5 request id  6 ttl, seconds  7 keys kept  8 '1' when its idempotency key is as good as new
local mid = ARGV[4]
if redis.call('EXISTS', session_key) == 0 then return { 'missing' } end
for _, waiting in ipairs(redis.call('LRANGE', queue_key, 0, -1)) do
  local item = cjson.decode(waiting)
  if item.id == mid then
    remember_request('message:' .. mid, 'unqueued ' .. ARGV[5], ARGV[6], tonumber(ARGV[7]))
    redis.call('LREM', queue_key, 1, waiting)
    if ARGV[8] == '1' then redis.call('HDEL', idem_key, 'key:' .. item.key) end
    emit('', 'message_unqueued', true, false, head('') .. ',' .. item.event)
    flush()
    hint('session', ',"state":"unqueued"')
    return { 'ok' }
  end
end
local known = recall_request('message:' .. mid, tonumber(ARGV[6]))
if not known then return { 'unknown' } end
if known[2] == 'queued' then return { 'begun' } end
return { known[3] == ARGV[5] and 'ok' or 'unknown' }
