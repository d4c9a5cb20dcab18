-- Let a message wait for the turn to end. Without a turn there is nothing to wait for.
-- ARGV: 4 message id  5 the message (JSON)  6 the event's body  7 most messages that wait  8 ttl, seconds
--       9 keys kept  10 idempotency key or ''  11 fingerprint
--       12 'steer' when it is meant for the running turn; 'interrupt' when it ends that turn and begins with its end,
--       before all others but those that interrupted before it  13 who interrupts
local mid = ARGV[4]
if redis.call('EXISTS', session_key) == 0 then return { 'missing' } end
if recall_request('message:' .. mid, tonumber(ARGV[8])) then return { 'ok' } end
if ARGV[10] ~= '' then
  local known = recall_request('key:' .. ARGV[10], tonumber(ARGV[8]))
  if known and known[3] == 'queued' then return { 'queued', known[4] } end
  if known then return { 'idle' } end -- it has begun since: `begin` tells of it
end
-- A queue that stands still since a turn failed is not overtaken by who wants to wait.
local held = turn_fields('steers', 'runner', 'id')
if not held[3] and (ARGV[12] == 'interrupt' or redis.call('LLEN', queue_key) == 0) then return { 'idle' } end
if redis.call('LLEN', queue_key) >= tonumber(ARGV[7]) then return { 'full' } end
if ARGV[12] == 'interrupt' then
  wait_first(ARGV[5])
  stop_turn(held[3], held[2], ARGV[13])
else
  redis.call('RPUSH', queue_key, ARGV[5])
end
if ARGV[12] == 'steer' and held[3] then
  redis.call('HSET', turn_key, 'steers', (held[1] or '') .. ' ' .. mid)
  tell_runner(held[2], 'steer ' .. sid .. ' ' .. held[3])
end
remember_request('message:' .. mid, 'queued', ARGV[8], tonumber(ARGV[9]))
if ARGV[10] ~= '' then
  remember_request('key:' .. ARGV[10], ARGV[11] .. ' queued ' .. mid, ARGV[8], tonumber(ARGV[9]))
end
emit('', 'message_queued', true, false, ARGV[6])
flush()
hint('session', ',"state":"queued"')
return { 'ok' }
