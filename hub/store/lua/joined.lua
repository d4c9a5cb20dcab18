-- Words that the agent took into the running turn, and that the hub did not give it: a user message of that turn,
-- once. Repeated, or known from before: nothing is written.
-- ARGV: 4 turn id  5 fence  6 message id  7 rest of the user message's body  8 the body of its message_delivered
--       9 idempotency key  10 ttl, seconds  11 keys kept
local tid, mid, key = ARGV[4], ARGV[6], 'key:' .. ARGV[9]
if not owns(tid, ARGV[5]) then return { 'fenced' } end
if recall_request(key, tonumber(ARGV[10])) then return { 'ok' } end
local held = turn_fields('attempt', 'first')
emit(tid, 'user_message', true, true, head(tid) .. ',' .. ARGV[7])
emit(tid, 'message_delivered', true, true, ARGV[8])
flush()
remember_request(key, table.concat({ 'joined', tid, mid, held[1], held[2] }, ' '), ARGV[10], tonumber(ARGV[11]))
return { 'ok' }
