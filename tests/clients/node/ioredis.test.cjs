// SPDX-License-Identifier: Apache-2.0
'use strict';
// ioredis, which speaks RESP2.

const assert = require('node:assert/strict');
const { test } = require('node:test');
const Redis = require('ioredis');
const { open, locked, user, password, key, awkwardKeys, decision, race } = require('./common.cjs');

const timeout = 60_000;

function connect(t, options) {
  const client = new Redis({ ...open(), ...options });
  client.on('error', () => {}); // the calls say it themselves
  t.after(() => client.disconnect());
  return client;
}

const throttle = (client, ...parts) => client.call('CL.THROTTLE', ...parts);

test('small commands', { timeout }, async (t) => {
  const client = connect(t, { connectionName: 'shop-7', db: 0 });
  assert.equal(await client.ping(), 'PONG');
  assert.equal(await client.client('GETNAME'), 'shop-7');
  assert.equal(await client.echo('a\r\nb'), 'a\r\nb');
  assert.match(await client.info(), /mete_version:/);
  assert.equal((await client.command('INFO', 'cl.throttle'))[0][1], -5);
  assert.equal((await client.time()).length, 2);
});

test('login', { timeout }, async (t) => {
  const client = connect(t, { ...locked(), username: user, password });
  assert.equal((await throttle(client, key(t, 'a'), 1, 1, 3600))[0], 0);
  const { host, port } = locked();
  const byUrl = new Redis(`redis://${user}:${encodeURIComponent(password)}@${host}:${port}`);
  t.after(() => byUrl.disconnect());
  assert.equal(await byUrl.ping(), 'PONG');

  const never = { ...locked(), lazyConnect: true, retryStrategy: null, maxRetriesPerRequest: 0 };
  // The client tells why it could not log in by an event.
  const ask = async (options) => {
    const asking = connect(t, { ...never, ...options });
    let why;
    asking.on('error', (error) => { why = error; });
    try {
      await asking.connect();
    } catch (error) {
      throw why ?? error;
    }
    return throttle(asking, key(t, 'b'), 1, 1, 1);
  };
  await assert.rejects(ask({ username: user, password: 'wrong' }), /WRONGPASS/);
  await assert.rejects(ask({}), /NOAUTH/);
  await assert.rejects(ask({ username: 'other', password: 'nothing to see' }), /NOPERM/);
});

test('throttle', { timeout }, async (t) => {
  const client = connect(t);
  assert.deepEqual(await throttle(client, key(t, 'a'), 15, 30, 60), [0, 16, 15, -1, 2]);
  for (let i = 0; i < 5; i++) {
    assert.deepEqual((await throttle(client, key(t, 'b'), 4, 1, 3600)).slice(0, 4), [0, 5, 4 - i, -1]);
  }
  const [limited, , , retry] = await throttle(client, key(t, 'b'), 4, 1, 3600);
  assert.ok(limited === 1 && retry > 3540 && retry <= 3600);
  await assert.rejects(throttle(client, 'a', 1, 0, 1), /^.*ERR .*count/);
  await assert.rejects(client.get('a'), /^.*ERR unknown command/);
});

test('take', { timeout }, async (t) => {
  const client = connect(t);
  const d = decision(await client.call('METE.TAKE', 'hundred', key(t, 'a'), 'COST', 40));
  assert.deepEqual([d.allowed, d.limit, d.remaining, d.name], [true, 100, 60, 'all']);
  assert.equal(decision(await client.call('METE.TAKE', 'hundred', key(t, 'a'), 'COST', 61)).allowed, false);
});

test('keys are bytes', { timeout }, async (t) => {
  const client = connect(t);
  for (const name of awkwardKeys(t)) {
    assert.equal((await throttle(client, name, 1, 1, 86400))[2], 1);
    assert.equal((await throttle(client, name, 1, 1, 86400))[2], 0);
    assert.equal(await client.del(name), 1);
  }
  assert.deepEqual(await client.echoBuffer(Buffer.from([0, 255, 13, 10])), Buffer.from([0, 255, 13, 10]));
});

test('pipeline, an error in it', { timeout }, async (t) => {
  const client = connect(t);
  const pipeline = client.pipeline();
  for (let i = 0; i < 1001; i++) {
    pipeline.call('CL.THROTTLE', key(t, 'a'), 998, 1, i === 500 ? 0 : 86400);
  }
  const replies = await pipeline.exec();
  assert.match(replies[500][0].message, /ERR .*period/);
  replies.splice(500, 1);
  replies.forEach(([error, value], i) => {
    assert.equal(error, null);
    assert.deepEqual(value.slice(0, 3), i < 999 ? [0, 999, 998 - i] : [1, 999, 0]);
  });
});

test('a transaction is refused, the connection goes on', { timeout }, async (t) => {
  const client = connect(t);
  await assert.rejects(client.multi().call('CL.THROTTLE', key(t, 'a'), 9, 1, 60).exec());
  assert.equal(await client.echo('in step'), 'in step');
});

// What is written together by enableAutoPipelining keeps its order too.
test('commands that are gathered by themselves', { timeout }, async (t) => {
  const client = connect(t, { enableAutoPipelining: true });
  const words = Array.from({ length: 500 }, (_, i) => `word-${i}`);
  assert.deepEqual(await Promise.all(words.map((word) => client.echo(word))), words);
});

test('8 connections, one key: exactly 1,000 pass', { timeout }, async (t) => {
  const clients = Array.from({ length: 8 }, () => connect(t));
  for (let round = 0; round < 5; round++) {
    const name = key(t, String(round));
    assert.equal(await race(clients.map((client) => () => throttle(client, name, 999, 1, 86400))), 1000);
  }
});
