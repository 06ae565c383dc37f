// SPDX-License-Identifier: Apache-2.0
'use strict';
// What the tests of both clients share.

const assert = require('node:assert/strict');

function env(name) {
  const value = process.env[name];
  assert.ok(value, `${name} is not set: run tests/clients/run`);
  return value;
}

function address(name) {
  const [host, port] = env(name).split(':');
  return { host, port: Number(port) };
}

const run = `${process.pid}-${Date.now()}`;

module.exports = {
  env,
  open: () => address('METE_OPEN_RESP'),
  locked: () => address('METE_LOCKED_RESP'),
  user: 'client',
  password: 'p@ss/word:1',
  // Keys of this run: the daemon remembers those of others.
  key: (test, name) => `${run}/${test.name}/${name}`,
  // Keys that hold what the protocol itself is made of.
  awkwardKeys: (test) =>
    ['\r\n', '\0', '$3\r\nabc\r\n'].map((end) => Buffer.from(module.exports.key(test, end)))
      .concat([Buffer.concat([Buffer.from(module.exports.key(test, '')), Buffer.from([0xff, 0xfe, 0x80])])]),
  /** The fields of a decision, whose booleans RESP2 writes as 0 and 1. */
  decision: (reply) => {
    const fields = Array.isArray(reply)
      ? Object.fromEntries(Array.from({ length: reply.length / 2 }, (_, i) => [String(reply[2 * i]), reply[2 * i + 1]]))
      : { ...reply };
    for (const name of ['allowed', 'would_deny', 'failed']) {
      assert.ok([0, 1, true, false].includes(fields[name]), `${name} is ${fields[name]}`);
      fields[name] = Boolean(fields[name]);
    }
    return fields;
  },
  /** Asks by each of the functions until it has been denied; how many requests passed. */
  race: async (throttles) => {
    const passed = await Promise.all(throttles.map(async (throttle) => {
      let count = 0;
      while ((await throttle())[0] === 0) {
        count++;
      }
      return count;
    }));
    return passed.reduce((sum, count) => sum + count, 0);
  },
};
