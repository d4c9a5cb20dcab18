-- Keep a tool's whole output for a while, bounded over the session: the oldest ones make room.
-- ARGV: 4 turn id  5 fence  6 tool id  7 text  8 its bytes  9 for how long, milliseconds  10 most bytes of a session
if not owns(ARGV[4], ARGV[5]) then return { 'fenced' } end
local name, total, most = ARGV[4] .. ' ' .. ARGV[6], tonumber(ARGV[8]), tonumber(ARGV[10])
local all, held = redis.call('HGETALL', kept_key), {}
for i = 1, #all, 2 do
  if all[i] ~= name then
    local ends, bytes = string.match(all[i + 1], '^(%d+) (%d+)$')
    held[#held + 1] = { tonumber(ends), tonumber(bytes), all[i] }
    total = total + tonumber(bytes)
  end
end
table.sort(held, function(a, b) return a[1] < b[1] end)
for _, one in ipairs(held) do
  if total <= most and one[1] >= now then break end
  redis.call('HDEL', outputs_key, one[3])
  redis.call('HDEL', kept_key, one[3])
  total = total - one[2]
end
redis.call('HSET', outputs_key, name, ARGV[7])
redis.call('HSET', kept_key, name, int(now + tonumber(ARGV[9])) .. ' ' .. ARGV[8])
redis.call('PEXPIRE', outputs_key, ARGV[9])
redis.call('PEXPIRE', kept_key, ARGV[9])
return { 'ok' }
