-- Take a turn that waits for a runner: a new fence and a lease.
-- ARGV: 4 turn id  5 runner  6 lease, milliseconds
local held = turn_fields('id', 'state', 'runner')
if held[1] ~= ARGV[4] then return { 'gone' } end
if held[2] == 'running' and held[3] ~= ARGV[5] then return { 'taken', held[3] } end
if held[2] == 'queued' then
  local fence = redis.call('HINCRBY', session_key, 'fence', 1)
  redis.call('HSET', turn_key, 'state', 'running', 'runner', ARGV[5], 'fence', int(fence), 'batch', '0', 'taken', int(now))
  redis.call('HSET', turn_key, 'previous', redis.call('HGET', session_key, 'runner') or '')
  redis.call('HSET', session_key, 'runner', ARGV[5])
  hint_turn(ARGV[4], 'running')
end
redis.call('ZADD', leases_key, int(now + tonumber(ARGV[6])), sid)
return { 'ok', redis.call('HGETALL', turn_key), redis.call('HGETALL', session_key) }
