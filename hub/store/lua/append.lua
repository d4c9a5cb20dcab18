-- Append a batch of events to the running turn and renew its lease. An empty batch renews only.
-- ARGV: 4 turn id  5 fence  6 number of the batch (0: none)  7 lease, milliseconds
--       8… type, 'd' or '', body in turn
local tid, batch = ARGV[4], ARGV[6]
if not owns(tid, ARGV[5]) then return { 'fenced' } end
if batch ~= '0' and #ARGV < 8 then return { 'empty' } end
local held = turn_fields('batch', 'cancel', 'answers', 'batch_seq', 'steers')
local last_seq = held[4] or '0'
if batch ~= '0' and batch ~= held[1] then
  if tonumber(batch) ~= tonumber(held[1]) + 1 then return { 'order', held[1] } end
  for i = 8, #ARGV, 3 do last_seq = emit(tid, ARGV[i], ARGV[i + 1] == 'd', true, ARGV[i + 2]) end
  redis.call('HSET', turn_key, 'batch', batch, 'batch_seq', last_seq)
  flush()
end
redis.call('HSET', turn_key, 'alive', int(now))
redis.call('ZADD', leases_key, int(now + tonumber(ARGV[7])), sid)
return { 'ok', last_seq, held[2] or '', held[3] or '', held[5] or '' }
