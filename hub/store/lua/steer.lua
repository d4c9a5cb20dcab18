-- Take a message that is meant for the running turn out of the queue, to be given to the agent. It is in nobody's
-- queue then, and in no log yet: `steered` says what became of it, and a turn that ends before returns it visibly.
-- ARGV: 4 turn id  5 fence  6 message id
local mid = ARGV[6]
if not owns(ARGV[4], ARGV[5]) then return { 'fenced' } end
local held = turn_fields('steers', 'steering')
if held[2] and held[2] ~= '' then
  return cjson.decode(held[2]).id == mid and { 'ok', held[2] } or { 'busy' } -- the first reply was lost
end
redis.call('HSET', turn_key, 'steers', without(held[1] or '', mid))
for _, waiting in ipairs(redis.call('LRANGE', queue_key, 0, -1)) do
  if cjson.decode(waiting).id == mid then
    redis.call('LREM', queue_key, 1, waiting)
    redis.call('HSET', turn_key, 'steering', waiting)
    return { 'ok', waiting }
  end
end
return { 'gone' } -- somebody took it back
