-- Let a message wait for the turn to end. Without a turn there is nothing to wait for.
-- ARGV: 4 message id  5 the message (JSON)  6 the event's body  7 most messages that wait  8 ttl, seconds
--       9 keys kept
local mid = ARGV[4]
if redis.call('EXISTS', session_key) == 0 then return { 'missing' } end
if recall_request('message:' .. mid, tonumber(ARGV[8])) then return { 'ok' } end
if redis.call('EXISTS', turn_key) == 0 then return { 'idle' } end
if redis.call('LLEN', queue_key) >= tonumber(ARGV[7]) then return { 'full' } end
redis.call('RPUSH', queue_key, ARGV[5])
remember_request('message:' .. mid, 'queued', ARGV[8], tonumber(ARGV[9]))
emit('', 'message_queued', true, false, ARGV[6])
flush()
hint('session', ',"state":"queued"')
return { 'ok' }
