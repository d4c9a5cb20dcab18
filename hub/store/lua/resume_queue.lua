-- Begin the turn of the message that waits first, where a failed turn had left the queue standing.
-- ARGV: 4 id for the turn  5 milliseconds until an untaken turn is rung  6 ttl of keys, seconds  7 how many are kept
if redis.call('EXISTS', session_key) == 0 then return { 'missing' } end
local held = turn_fields('id', 'started_at', 'state', 'message_id', 'attempt', 'first')
if held[1] == ARGV[4] then return { 'ok', held[4], held[6] } end -- the first reply was lost
local begun = redis.call('XRANGE', live_key(ARGV[4]), '-', '+', 'COUNT', 2)
if begun[1] then -- the first reply was lost, and the turn has ended since
  return { 'ok', string.match(begun[2][2][2], '"message_id":"([^"]*)"'), string.match(begun[1][1], '^%d+') }
end
if held[1] then return { 'busy', held[1], held[2], held[3], '0', held[4], held[5] } end
local mid = start_queued(ARGV[4], tonumber(ARGV[5]), ARGV[6], tonumber(ARGV[7]), true)
if not mid then return { 'empty' } end
flush()
return { 'ok', mid, turn_fields('first')[1] }
