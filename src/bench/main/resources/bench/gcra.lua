-- GCRA: the key holds the theoretical arrival time, in microseconds of Redis's clock. The period is in milliseconds.
-- Returns whether the request is allowed (1 or 0), the remaining tokens, and the milliseconds until a retry would pass.
local burst, limit = tonumber(ARGV[1]), tonumber(ARGV[2])
local period, cost = tonumber(ARGV[3]), tonumber(ARGV[4])
local interval = period * 1000 / limit
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local arrival = math.max(now, tonumber(redis.call('GET', KEYS[1]) or now))
local ahead = arrival - now + cost * interval
if ahead > burst * interval then
  local left = math.floor((burst * interval - (arrival - now)) / interval)
  return {0, left, math.ceil((ahead - burst * interval) / 1000)}
end
-- The key lives one period longer than needed, so that a client that returns does not have to create it each time.
redis.call('SET', KEYS[1], string.format('%.0f', now + ahead), 'PX', math.ceil(ahead / 1000) + period)
return {1, math.floor((burst * interval - ahead) / interval), 0}
