-- SPDX-License-Identifier: Apache-2.0
-- The token bucket that one writes for Redis: a hash with the tokens and the time they were counted.
-- KEYS[1]; ARGV: capacity, tokens per second, cost.  Returns {1 allowed or 0, whole tokens left}.
local capacity = tonumber(ARGV[1])
local per_second = tonumber(ARGV[2])
local cost = tonumber(ARGV[3])
local time = redis.call('TIME')
local now_us = time[1] * 1000000 + time[2]
local state = redis.call('HMGET', KEYS[1], 'tokens', 'us')
local tokens = capacity
if state[1] then
    local passed_us = math.max(0, now_us - tonumber(state[2]))
    tokens = math.min(capacity, tonumber(state[1]) + passed_us * per_second / 1000000)
end
local allowed = 0
if tokens >= cost then
    tokens = tokens - cost
    allowed = 1
end
redis.call('HSET', KEYS[1], 'tokens', tokens, 'us', now_us)
redis.call('EXPIRE', KEYS[1], math.ceil(capacity / per_second))
return {allowed, math.floor(tokens)}
