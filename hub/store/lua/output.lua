-- A tool's whole output, if it is kept still. ARGV: 4 turn id  5 tool id
local name = ARGV[4] .. ' ' .. ARGV[5]
local told = redis.call('HGET', kept_key, name)
if not told then return { 'gone' } end
if tonumber(string.match(told, '^%d+')) < now then
  redis.call('HDEL', outputs_key, name)
  redis.call('HDEL', kept_key, name)
  return { 'gone' }
end
return { 'ok', redis.call('HGET', outputs_key, name) }
