-- Begin a turn, or say who runs. The losing caller writes nothing, not even its own message.
-- ARGV: 4 mode (new | attach: a losing caller's key stands for the running turn from then on | retry)
--       5 turn id  6 message id  7 text  8 literal  9 origin  10 fingerprint (of a retry: rerun | resume)
--       11 rest of the user message's body  12 idempotency key or ''  13 its time to live, seconds
--       14 how many keys are kept  15 milliseconds until a turn that nobody took is rung again
local mode, tid, key = ARGV[4], ARGV[5], ARGV[12] ~= '' and 'key:' .. ARGV[12] or ''
if redis.call('EXISTS', session_key) == 0 then return { 'missing' } end

if key ~= '' then
  local known = recall_request(key, tonumber(ARGV[13]))
  if known then
    if known[2] ~= ARGV[10] then return { 'mismatch', known[3] } end
    if known[3] == 'queued' then return { 'queued', known[4] } end
    return { 'ok', known[3], known[4], known[5], known[6], 'repeated' }
  end
end

local held = turn_fields('id', 'started_at', 'state', 'fingerprint', 'message_id', 'attempt', 'first')
if held[1] == tid then return { 'ok', tid, held[5], held[6], held[7], 'begun' } end -- the first reply was lost
local begun = redis.call('XRANGE', live_key(tid), '-', '+', 'COUNT', 2)
if begun[1] then -- the first reply was lost, and the turn has ended since: its own events say how it began
  local started = begun[mode == 'retry' and 1 or 2][2][2]
  local attempt, mid = string.match(started, '"attempt":(%d+),"message_id":"([^"]*)"')
  return { 'ok', tid, mid, attempt, string.match(begun[1][1], '^%d+'), 'begun' }
end
if held[1] then
  local same = held[4] == ARGV[10] and '1' or '0'
  if mode == 'attach' and key ~= '' then
    remember_request(key, table.concat({ ARGV[10], held[1], held[5], held[6], held[7] }, ' '), ARGV[13],
      tonumber(ARGV[14]))
  end
  return { 'busy', held[1], held[2], held[3], same, held[5], held[6] }
end

local attempt, tail = 1, ARGV[11]
local message = { id = ARGV[6], text = ARGV[7], literal = ARGV[8], origin = ARGV[9], fingerprint = ARGV[10] }
if mode == 'retry' then
  local last = redis.call('HMGET', last_key, 'message_id', 'text', 'literal', 'origin', 'fingerprint', 'attempt', 'done')
  if not last[1] or last[7] == '1' then return { 'no_retry' } end
  message = { id = last[1], text = last[2], literal = last[3], origin = last[4], fingerprint = last[5] }
  attempt, tail = tonumber(last[6]) + 1, false
end

local first = start_turn(tid, attempt, message, tail, tonumber(ARGV[15]), mode == 'retry' and ARGV[10] == 'resume')
if key ~= '' then
  remember_request(key, ARGV[10] .. ' ' .. tid .. ' ' .. message.id .. ' ' .. int(attempt) .. ' ' .. first,
    ARGV[13], tonumber(ARGV[14]))
end
flush()
return { 'ok', tid, message.id, int(attempt), first, 'begun' }
