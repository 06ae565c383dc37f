-- SPDX-License-Identifier: Apache-2.0
-- wrk: a random key of a million in each request.
local before = "GET /v1/take?policy=example&key="
local after = " HTTP/1.1\r\nHost: localhost\r\n\r\n"
local random, format = math.random, string.format

function init()
    math.randomseed(1)
end

function request()
    return before .. format("%06d", random(0, 999999)) .. after
end
