-- Take over a turn whose lease has run out: a higher fence, so that its old owner can write nothing more.
-- A turn that nobody took is to be rung again. With `adopt` the turn goes on under the same id.
-- ARGV: 4 turn id  5 runner  6 lease, milliseconds  7 '1' to adopt  8 milliseconds until rung again
--       9 request id
local tid = ARGV[4]
local held = turn_fields('id', 'state', 'attempt', 'rung', 'message_id', 'reaped', 'resumes')
if held[1] ~= tid then return { 'gone' } end
local deadline = tonumber(redis.call('ZSCORE', leases_key, sid) or '0')
if deadline > now then
  if held[4] == ARGV[9] then return { 'ring' } end -- the first reply was lost, here and in the next line
  if held[6] == ARGV[9] then
    return { 'ok', redis.call('HGETALL', turn_key), redis.call('HGETALL', session_key) }
  end
  return { 'held' }
end
if held[2] == 'queued' then
  redis.call('HSET', turn_key, 'rung', ARGV[9])
  redis.call('ZADD', leases_key, int(now + tonumber(ARGV[8])), sid)
  return { 'ring' }
end
local fence = redis.call('HINCRBY', session_key, 'fence', 1)
redis.call('HSET', session_key, 'runner', ARGV[5])
redis.call('HSET', turn_key, 'runner', ARGV[5], 'fence', int(fence), 'batch', '0', 'reaped', ARGV[9],
  'taken', int(now))
redis.call('ZADD', leases_key, int(now + tonumber(ARGV[6])), sid)
if ARGV[7] == '1' then
  local attempt = int(tonumber(held[3]) + 1)
  redis.call('HSET', turn_key, 'attempt', attempt)
  redis.call('HSET', last_key, 'attempt', attempt)
  emit_started(tid, attempt, held[5], held[7] == '1')
  flush()
end
return { 'ok', redis.call('HGETALL', turn_key), redis.call('HGETALL', session_key) }
