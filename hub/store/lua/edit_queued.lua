-- Change the words of a message that waits; it keeps its place. Repeated: changed already.
-- ARGV: 4 message id  5 the message (JSON)  6 the event's body  7 ttl of keys, seconds
--       8 the message (JSON) that it is made of: where it is another by now, it has to be made anew
local mid = ARGV[4]
if redis.call('EXISTS', session_key) == 0 then return { 'missing' } end
for place, waiting in ipairs(redis.call('LRANGE', queue_key, 0, -1)) do
  if cjson.decode(waiting).id == mid then
    if waiting == ARGV[5] then return { 'ok' } end
    if waiting ~= ARGV[8] then return { 'changed', waiting } end
    redis.call('LSET', queue_key, place - 1, ARGV[5])
    emit('', 'message_queued', true, false, ARGV[6])
    flush()
    hint('session', ',"state":"queued"')
    return { 'ok' }
  end
end
local known = recall_request('message:' .. mid, tonumber(ARGV[7]))
return { known and (known[2] == 'queued' or known[2] == 'steered') and 'begun' or 'unknown' }
