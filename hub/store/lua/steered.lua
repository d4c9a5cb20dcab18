-- What became of a message that was given to the running turn: it is a user message of that turn, or waits again,
-- before all that only wait. Repeated: done already.
-- ARGV: 4 turn id  5 fence  6 message id  7 '1' when the agent has it  8 the body of its message_delivered
--       9 ttl, seconds  10 keys kept
local tid, mid = ARGV[4], ARGV[6]
if not owns(tid, ARGV[5]) then return { 'fenced' } end
local held = turn_fields('steering', 'attempt', 'first')
local item = held[1] and held[1] ~= '' and cjson.decode(held[1])
if not item or item.id ~= mid then return { 'ok' } end
redis.call('HSET', turn_key, 'steering', '')
if ARGV[7] ~= '1' then
  wait_first(held[1])
  return { 'ok' }
end
emit(tid, 'user_message', true, true, head(tid) .. ',' .. string.gsub(item.tail, '"origin":"queue"', '"origin":"api"'))
emit(tid, 'message_delivered', true, true, ARGV[8])
flush()
remember_request('message:' .. mid, 'steered', ARGV[9], tonumber(ARGV[10]))
remember_begun(item, tid, held[2], held[3], ARGV[9], ARGV[10])
hint('session', ',"state":"unqueued"')
return { 'ok' }
