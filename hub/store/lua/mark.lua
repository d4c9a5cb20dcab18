-- Have the running turn distilled when it has ended. Whether it is sensitive is decided here, and kept with it:
-- it only ever becomes more so.
-- ARGV: 4 turn id  5 fence  6 '1' when it is sensitive  7 how many turns may wait for their distillation
if not owns(ARGV[4], ARGV[5]) then return { 'fenced' } end
local held = turn_fields('sensitive')
redis.call('HSET', turn_key, 'sensitive', held[1] == '1' and '1' or ARGV[6], 'distill_most', ARGV[7])
return { 'ok' }
