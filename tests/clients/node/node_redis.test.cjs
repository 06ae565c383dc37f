// SPDX-License-Identifier: Apache-2.0
'use strict';
// node-redis, over RESP2 and RESP3.

const assert = require('node:assert/strict');
const { test } = require('node:test');
const { createClient, createClientPool, RESP_TYPES } = require('redis');
const { open, locked, user, password, key, awkwardKeys, decision, race } = require('./common.cjs');

const timeout = 60_000;

async function connect(t, options) {
  const client = createClient({ socket: open(), ...options });
  client.on('error', () => {}); // the calls say it themselves
  t.after(() => client.isOpen && client.destroy());
  await client.connect();
  return client;
}

function eachProtocol(name, run) {
  for (const RESP of [2, 3]) {
    test(`${name}, RESP${RESP}`, { timeout }, async (t) => run(t, await connect(t, { RESP }), RESP));
  }
}

const throttle = (client, name, burst, count, period, ...quantity) =>
  client.sendCommand(['CL.THROTTLE', name, ...[burst, count, period, ...quantity].map(String)]);

eachProtocol('the protocol is the one asked for', async (t, client, RESP) => {
  assert.equal(await client.ping(), 'PONG');
  const reply = await client.sendCommand(['METE.PEEK', 'hundred', key(t, 'a')]);
  assert.equal(Array.isArray(reply), RESP === 2);
});

eachProtocol('small commands', async (t, client) => {
  assert.equal(await client.echo('a\r\nb'), 'a\r\nb');
  assert.match(await client.info(), /mete_version:/);
  assert.ok(await client.clientId() > 0);
  assert.ok(Math.abs(Number((await client.sendCommand(['TIME']))[0]) - Date.now() / 1000) < 60);
  await client.clientSetName('shop-7');
  assert.equal(await client.clientGetName(), 'shop-7');
  assert.equal((await client.clientInfo()).name, 'shop-7');
  assert.ok((await client.clientList()).length >= 1);
  assert.ok(await client.commandCount() > 20);
  const [info] = await client.commandInfo(['cl.throttle']);
  assert.equal(info.arity, -5);
  assert.equal(info.firstKeyIndex, 1);
  assert.ok(info.flags.has('write'));
  await client.configGet('*');
});

for (const RESP of [2, 3]) {
  test(`login, RESP${RESP}`, { timeout }, async (t) => {
    const { host, port } = locked();
    const url = `redis://${user}:${encodeURIComponent(password)}@${host}:${port}`;
    const client = await connect(t, { url, socket: undefined, RESP, name: 'by-url' });
    assert.equal((await throttle(client, key(t, 'a'), 1, 1, 3600))[0], 0);
    assert.equal(await client.clientGetName(), 'by-url');

    const never = { socket: { ...locked(), reconnectStrategy: false }, RESP };
    await assert.rejects(connect(t, { ...never, username: user, password: 'wrong' }), /WRONGPASS/);
    await assert.rejects((async () => (await connect(t, never)).ping())(), /NOAUTH/);
    const other = await connect(t, { ...never, username: 'other', password: 'nothing to see' });
    await assert.rejects(other.sendCommand(['METE.TAKE', 'hundred', 'a']), /^.*NOPERM/);
  });
}

eachProtocol('throttle', async (t, client) => {
  assert.deepEqual(await throttle(client, key(t, 'a'), 15, 30, 60), [0, 16, 15, -1, 2]);
  for (let i = 0; i < 5; i++) {
    const [limited, limit, remaining, retry] = await throttle(client, key(t, 'b'), 4, 1, 3600);
    assert.deepEqual([limited, limit, remaining, retry], [0, 5, 4 - i, -1]);
  }
  const [limited, , remaining, retry, reset] = await throttle(client, key(t, 'b'), 4, 1, 3600);
  assert.deepEqual([limited, remaining], [1, 0]);
  assert.ok(retry > 3540 && retry <= 3600 && reset >= retry, `${retry} ${reset}`);
  assert.equal((await throttle(client, key(t, 'b'), 4, 1, 3600, 6))[3], -1);
});

eachProtocol('errors name the argument', async (t, client) => {
  await assert.rejects(throttle(client, 'a', -1, 1, 1), /^.*ERR .*burst/);
  await assert.rejects(throttle(client, 'a', 1, 0, 1), /^.*ERR .*count/);
  await assert.rejects(throttle(client, 'a', 1, 1, '1.5'), /^.*ERR .*period/);
  await assert.rejects(client.sendCommand(['METE.TAKE', 'no such policy', 'a']), /^.*ERR policy: /);
  await assert.rejects(client.get('a'), /^.*ERR unknown command/);
  assert.equal(await client.ping(), 'PONG');
});

eachProtocol('take', async (t, client) => {
  const take = async (...more) => decision(await client.sendCommand(['METE.TAKE', ...more]));
  const name = key(t, 'a');
  let d = await take('hundred', name);
  assert.deepEqual([d.allowed, d.limit, d.remaining, d.retry_after_ms, d.name, d.failed],
    [true, 100, 99, 0, 'all', false]);
  d = await take('hundred', name, 'COST', '99');
  assert.deepEqual([d.allowed, d.remaining], [true, 0]);
  d = await take('hundred', name);
  assert.equal(d.allowed, false);
  assert.ok(d.retry_after_ms > 0);
  assert.equal((await take('hundred', name, 'COST', '101')).retry_after_ms, -1);
});

eachProtocol('keys are bytes', async (t, client) => {
  for (const name of awkwardKeys(t)) {
    assert.equal((await throttle(client, name, 1, 1, 86400))[2], 1);
    assert.equal((await throttle(client, name, 1, 1, 86400))[2], 0);
    assert.equal(await client.exists(name), 1);
    assert.equal(await client.del(name), 1);
  }
  const named = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
  assert.deepEqual(await named.echo(Buffer.from([0, 255, 13, 10])), Buffer.from([0, 255, 13, 10]));
});

// The client writes commands of one turn of its loop together.
eachProtocol('a thousand at once, an error among them', async (t, client) => {
  const replies = await Promise.allSettled(Array.from({ length: 1001 }, (_, i) =>
    throttle(client, key(t, 'a'), 998, 1, i === 500 ? 0 : 86400)));
  assert.match(replies[500].reason.message, /ERR .*period/);
  replies.splice(500, 1);
  replies.forEach(({ value }, i) =>
    assert.deepEqual(value.slice(0, 3), i < 999 ? [0, 999, 998 - i] : [1, 999, 0]));
});

eachProtocol('a transaction is refused, the connection goes on', async (t, client) => {
  await assert.rejects(client.multi().addCommand(['CL.THROTTLE', key(t, 'a'), '9', '1', '60']).exec());
  assert.equal(await client.echo('in step'), 'in step');
});

for (const RESP of [2, 3]) {
  test(`a pool of connections, RESP${RESP}`, { timeout }, async (t) => {
    const pool = createClientPool({ socket: open(), RESP }, { minimum: 16, maximum: 32, acquireTimeout: 20_000 });
    pool.on('error', () => {});
    t.after(() => pool.destroy());
    await pool.connect();
    const replies = await Promise.all(Array.from({ length: 600 }, (_, i) =>
      throttle(pool, key(t, String(i % 3)), 99, 1, 86400)));
    assert.equal(replies.filter(([limited]) => limited === 0).length, 300);
  });

  test(`8 connections, one key: exactly 1,000 pass, RESP${RESP}`, { timeout }, async (t) => {
    const clients = await Promise.all(Array.from({ length: 8 }, () => connect(t, { RESP })));
    for (let round = 0; round < 5; round++) {
      const name = key(t, String(round));
      assert.equal(await race(clients.map((client) => () => throttle(client, name, 999, 1, 86400))), 1000);
    }
  });
}
