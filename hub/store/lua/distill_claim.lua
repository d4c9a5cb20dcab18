-- Claim an ended turn that waits for its distillation, or keep the claim. Repeated with the same claim: the same.
-- ARGV: 4 turn id  5 claim  6 lease, milliseconds
local tid, claim = ARGV[4], ARGV[5]
local member = sid .. ' ' .. tid
local due = redis.call('ZSCORE', undistilled_key, member)
if not due then return { 'gone' } end
if redis.call('EXISTS', session_key) == 0 then
  redis.call('ZREM', undistilled_key, member)
  return { 'gone' }
end
if redis.call('HGET', distill_key, tid .. ':claim') ~= claim then
  if tonumber(due) > now then return { 'held' } end
  redis.call('HSET', distill_key, tid .. ':claim', claim)
  redis.call('HINCRBY', distill_key, tid .. ':tries', 1)
end
redis.call('ZADD', undistilled_key, int(now + tonumber(ARGV[6])), member)
local facts = { 'ok', redis.call('HGETALL', session_key), redis.call('HGET', distill_key, tid .. ':tries') }
for _, name in ipairs(waiting_facts) do facts[#facts + 1] = redis.call('HGET', distill_key, tid .. ':' .. name) end
return facts
