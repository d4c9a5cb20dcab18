-- End the turn: what was left open is closed, the terminal event is written, the slot is free, the next
-- queued message begins. All of it or nothing.
-- ARGV: 4 turn id  5 fence  6 grace of the live stream, milliseconds  7 id for the next turn
--       8 milliseconds until an untaken turn is rung  9 reason for open asks  10 '1' when the queue goes on
--       11 time to live of idempotency keys, seconds  12 how many are kept
--       13… type, body in turn; the last pair is the terminal event
local tid, fence = ARGV[4], ARGV[5]
if not owns(tid, fence) then
  local last = redis.call('XREVRANGE', live_key(tid), '+', '-', 'COUNT', 1)
  if last[1] and last[1][2][6] == fence then -- the first reply was lost
    local held = turn_fields('id', 'message_id')
    local follows = held[1] == ARGV[7]
    return { 'ok', string.match(last[1][1], '^%d+'), follows and held[1] or '', follows and held[2] or '' }
  end
  return { 'fenced' }
end

local held = turn_fields('open', 'asks', 'steering')
for i = 13, #ARGV - 2, 2 do emit(tid, ARGV[i], true, true, ARGV[i + 1]) end
for aid in string.gmatch(held[1], '%S+') do withdraw(tid, aid, ARGV[9]) end
for aid in string.gmatch(held[2], '%S+') do
  if redis.call('HGET', asks_key, aid .. ':state') == 'delivered' then
    redis.call('HSET', asks_key, aid .. ':state', 'closed')
  end
end
if held[3] and held[3] ~= '' then -- nobody knows whether the agent has it: it goes back to who sent it
  emit('', 'message_unqueued', true, false, head('') .. ',' .. cjson.decode(held[3]).event)
end
local kind = ARGV[#ARGV - 1]
local terminal = emit(tid, kind, true, true, ARGV[#ARGV], fence)
local memo = turn_fields('distill_most', 'first', 'sensitive', 'message_id', 'text', 'literal', 'origin')
redis.call('DEL', turn_key)
redis.call('ZREM', leases_key, sid)
redis.call('PEXPIRE', live_key(tid), ARGV[6])
redis.call('HSET', last_key, 'done', kind == 'turn_completed' and '1' or '0', 'ended', string.sub(kind, 6))
hint_turn(tid, string.sub(kind, 6))
if memo[1] then -- somebody makes memories of turns: from now on this one waits for it, whatever becomes of us
  if redis.call('ZCARD', undistilled_key) >= tonumber(memo[1]) then
    memorize(tid, 'distill_failed', head(tid) .. ',"code":"backlog_full","message":"Too many ended turns wait for '
      .. 'their distillation already (runner.distill_backlog), so this one is not distilled."}')
  else
    local facts = { memo[2], terminal, kind, memo[3], memo[4], memo[5], memo[6], memo[7] }
    for i, name in ipairs(waiting_facts) do redis.call('HSET', distill_key, tid .. ':' .. name, facts[i]) end
    redis.call('ZADD', undistilled_key, int(now), sid .. ' ' .. tid)
  end
end

local next_mid = start_queued(ARGV[7], tonumber(ARGV[8]), ARGV[11], tonumber(ARGV[12]), ARGV[10] == '1') or ''
flush()
return { 'ok', terminal, next_mid ~= '' and ARGV[7] or '', next_mid }
