-- The head of every transaction: names for the keys of one session, the clock, and how events are written.
-- KEYS, all in one slot: 1 session  2 log  3 turn  4 asks  5 queue  6 idem  7 last  8 sessions  9 leases
--                        10 pending  11 grants  12 the prefix of live streams (a turn's id makes it a key)
--                        13 distill  14 undistilled  15 memory  16 outputs  17 kept
-- ARGV: 1 session id  2 the session's channel  3 the present (RFC 3339)  4… the transaction's own
-- Statuses are returned, not raised, and everything is validated before the first write: Lua does not roll back.
local session_key, log_key, turn_key, asks_key, queue_key = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local idem_key, last_key, sessions_key, leases_key, pending_key = KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10]
local grants_key, distill_key, undistilled_key, memory_key = KEYS[11], KEYS[13], KEYS[14], KEYS[15]
local outputs_key, kept_key = KEYS[16], KEYS[17]
local sid, channel, at = ARGV[1], ARGV[2], ARGV[3]

local function live_key(tid) return KEYS[12] .. tid end

local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)

local function int(number) return string.format('%.0f', number) end

-- A turn's fields by name, in the order asked for; false where there is none.
local function turn_fields(...) return redis.call('HMGET', turn_key, ...) end

-- Whether the caller owns the turn: its id and its fence are the present ones.
local function owns(tid, fence)
  local held = turn_fields('id', 'fence')
  return held[1] == tid and held[2] == fence
end

local seq, written, changed

-- One event: numbered, framed once, put where it belongs. `live`: the turn runs, so its stream has it too.
local function emit(tid, kind, durable, live, body, mark)
  if not seq then
    seq, written, changed = tonumber(redis.call('HGET', session_key, 'seq') or '0'), {}, false
  end
  seq = seq + 1
  local n = int(seq)
  local frame = 'id: ' .. n .. '\nevent: ' .. kind .. '\ndata: {"type":"' .. kind .. '","seq":' .. n .. ',' .. body .. '\n\n'
  if durable then
    redis.call('XADD', log_key, n .. '-0', 'f', frame, 't', tid)
    changed = true
  end
  if live then redis.call('XADD', live_key(tid), n .. '-0', 'f', frame, 't', tid, 'm', mark or '') end
  written[#written + 1] = tid .. '\n' .. frame
  return n
end

-- The beginning of an event's body, for events that are made here.
local function head(tid)
  local body = '"session_id":"' .. sid .. '","at":"' .. at .. '"'
  if tid ~= '' then body = body .. ',"turn_id":"' .. tid .. '"' end
  return body
end

-- Keep the number and ring: the very bytes go to every process that watches the session.
local function flush()
  redis.call('HSET', session_key, 'seq', int(seq))
  if changed then
    redis.call('HSET', session_key, 'updated_at', at)
    redis.call('ZADD', sessions_key, int(now), sid)
  end
  redis.call('PUBLISH', channel, table.concat(written))
end

-- A hint for those who watch the whole hub.
local function hint(kind, facts)
  redis.call('PUBLISH', 'th:hub', '{"type":"' .. kind .. '","session_id":"' .. sid .. '"' .. facts .. '}')
end

local function hint_turn(tid, state) hint('turn', ',"turn_id":"' .. tid .. '","state":"' .. state .. '"') end
local function hint_ask(aid, state) hint('ask', ',"ask_id":"' .. aid .. '","state":"' .. state .. '"') end

-- Tell the runner of the present turn.
local function tell_runner(runner, what)
  if runner and runner ~= '' then redis.call('PUBLISH', 'th:runner:' .. runner, what) end
end

-- Ask for the running turn to be stopped; the first who asks is named.
local function stop_turn(tid, runner, by)
  redis.call('HSETNX', turn_key, 'cancel', by)
  tell_runner(runner, 'cancel ' .. sid .. ' ' .. tid)
end

-- Lists of ids live in one field, a space before each.
local function listed(list, id) return list and string.find(list .. ' ', ' ' .. id .. ' ', 1, true) ~= nil end

local function without(list, id)
  local from, to = string.find(list .. ' ', ' ' .. id .. ' ', 1, true)
  if not from then return list end
  return string.sub(list, 1, from - 1) .. string.sub(list, to)
end

-- Tell that a turn has started, or goes on under another runner; the number of the event.
local function emit_started(tid, attempt, message_id, resumes)
  return emit(tid, 'turn_started', true, true, head(tid) .. ',"attempt":' .. int(attempt) .. ',"message_id":"' ..
    message_id .. '","resumes":' .. (resumes and 'true}' or 'false}'))
end

-- Start a turn: the one place that writes a registry entry. `tail` is the rest of the user message's body,
-- or false for a retry. `message`: id, text, literal, origin, fingerprint.
local function start_turn(tid, attempt, message, tail, ring_ms, resumes)
  local first
  if tail then first = emit(tid, 'user_message', true, true, head(tid) .. ',' .. tail) end
  local started = emit_started(tid, attempt, message.id, resumes)
  first = first or started
  redis.call('HSET', turn_key, 'id', tid, 'state', 'queued', 'started_at', at, 'attempt', int(attempt),
    'message_id', message.id, 'text', message.text, 'literal', message.literal, 'origin', message.origin,
    'fingerprint', message.fingerprint, 'first', first, 'batch', '0', 'fence', '', 'runner', '',
    'resumes', resumes and '1' or '', 'asks', '', 'open', '', 'answers', '', 'steers', '', 'steering', '',
    'born', int(now))
  redis.call('HSET', last_key, 'message_id', message.id, 'text', message.text, 'literal', message.literal,
    'origin', message.origin, 'fingerprint', message.fingerprint, 'attempt', int(attempt), 'done', '0')
  redis.call('ZADD', leases_key, int(now + ring_ms), sid)
  hint_turn(tid, 'queued')
  return first
end

-- Remember a request by its key: bounded in number (the oldest half makes room) and in time. Keys that clients
-- choose begin with 'key:', those of waiting messages with 'message:'; they never meet.
local function remember_request(key, value, ttl_s, most)
  if redis.call('HLEN', idem_key) >= most and redis.call('HEXISTS', idem_key, key) == 0 then
    local all, ages = redis.call('HGETALL', idem_key), {}
    for i = 1, #all, 2 do ages[#ages + 1] = { tonumber(string.match(all[i + 1], '^%d+')), all[i] } end
    table.sort(ages, function(a, b) return a[1] < b[1] end)
    for i = 1, math.ceil(#ages / 2) do redis.call('HDEL', idem_key, ages[i][2]) end
  end
  redis.call('HSET', idem_key, key, int(now) .. ' ' .. value)
  redis.call('EXPIRE', idem_key, ttl_s)
end

-- The remembered request, as its words; nil when there is none or it is too old.
local function recall_request(key, ttl_s)
  local value = redis.call('HGET', idem_key, key)
  if not value then return nil end
  local words = {}
  for word in string.gmatch(value, '%S+') do words[#words + 1] = word end
  if tonumber(words[1]) + ttl_s * 1000 < now then return nil end
  return words
end

-- From now on a waiting message's key stands for the turn that has the message. What was asked for with the key
-- stays what it was, whatever has been made of the message since.
local function remember_begun(item, tid, attempt, first, ttl_s, most)
  if item.key == '' then return end
  local known = recall_request('key:' .. item.key, tonumber(ttl_s))
  local value = table.concat({ known and known[2] or item.fingerprint, tid, item.id, attempt, first }, ' ')
  remember_request('key:' .. item.key, value, ttl_s, tonumber(most))
end

-- Let a message wait before all others but those that had the running turn ended: they begin with its end, in the
-- order in which they came.
local function wait_first(message)
  for _, waiting in ipairs(redis.call('LRANGE', queue_key, 0, -1)) do
    if not cjson.decode(waiting).interrupts then return redis.call('LINSERT', queue_key, 'BEFORE', waiting, message) end
  end
  return redis.call('RPUSH', queue_key, message)
end

-- Start the turn of the message that waits first; its id, nil when none waits. Without `go_on` only where that
-- message had the turn before ended. Where the next one interrupts as well, it was sent after this one: this one's
-- turn has begun, and is to be stopped, as if they had come one after the other.
local function start_queued(tid, ring_ms, ttl_s, most, go_on)
  local waiting = redis.call('LINDEX', queue_key, 0)
  local item = waiting and cjson.decode(waiting)
  if not item or not (go_on or item.interrupts) then return nil end
  redis.call('LPOP', queue_key)
  local message = { id = item.id, text = item.text, literal = item.literal and '1' or '0',
    origin = item.interrupts and 'api' or 'queue', fingerprint = item.fingerprint }
  local first = start_turn(tid, 1, message, item.tail, ring_ms)
  remember_begun(item, tid, '1', first, ttl_s, most)
  local behind = redis.call('LINDEX', queue_key, 0)
  local follows = item.interrupts and behind and cjson.decode(behind)
  if follows and follows.interrupts then stop_turn(tid, '', follows.by or 'person') end
  return item.id
end

-- End an open ask of the present turn without a settlement.
local function withdraw(tid, aid, reason)
  redis.call('HSET', asks_key, aid .. ':state', 'withdrawn', aid .. ':reason', reason)
  redis.call('ZREM', pending_key, aid)
  emit(tid, 'ask_withdrawn', true, true, head(tid) .. ',"ask_id":"' .. aid .. '","reason":"' .. reason .. '"}')
  hint_ask(aid, 'withdrawn')
end

-- What is known of a turn that waits for its distillation: a field each, of these names.
local waiting_facts = { 'first', 'last', 'kind', 'sensitive', 'message_id', 'text', 'literal', 'origin' }

-- Write what was made of an ended turn: into the log, and into the session's memory, which is read alone.
local function memorize(tid, kind, body)
  local n = emit(tid, kind, true, false, body)
  redis.call('XADD', memory_key, n .. '-0', 'f', string.sub(written[#written], #tid + 2), 't', tid)
end
