-- Take a waiting message back.
-- ARGV: 4 message id  5 ttl, seconds  6 head of the event's body (its text follows from the queue)
local mid = ARGV[4]
if redis.call('EXISTS', session_key) == 0 then return { 'missing' } end
for _, waiting in ipairs(redis.call('LRANGE', queue_key, 0, -1)) do
  local item = cjson.decode(waiting)
  if item.id == mid then
    redis.call('LREM', queue_key, 1, waiting)
    emit('', 'message_unqueued', true, false, head('') .. ',' .. item.event)
    flush()
    hint('session', ',"state":"unqueued"')
    return { 'ok' }
  end
end
return { recall_request('message:' .. mid, tonumber(ARGV[5])) and 'begun' or 'unknown' }
