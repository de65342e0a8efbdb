import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { Spool } from "../../../integrations/openclaw/spool.js";

const MANY = 1024 * 1024;

function world({ outcome = () => "done", bytes = MANY, folder } = {}) {
  folder ??= fs.mkdtempSync(path.join(os.tmpdir(), "spool-"));
  const sent = [];
  const warnings = [];
  const send = async (entry) => {
    const said = outcome(entry);
    if (said === "done") sent.push(entry.n);
    return said;
  };
  const log = { warn: (words) => warnings.push(words), info: () => {} };
  return { folder, sent, warnings, spool: new Spool({ folder, send, log, bytes }) };
}

async function until(condition) {
  for (let tries = 0; !condition(); tries += 1) {
    assert.ok(tries < 500, "it does not come about");
    await sleep(10);
  }
}

test("writes are sent in order, and nothing of them stays", async () => {
  const { folder, sent, spool } = world();
  for (let n = 0; n < 50; n += 1) spool.add({ n });
  await until(() => sent.length === 50 && !spool.waiting().length);
  assert.deepEqual(sent, [...Array(50).keys()]);
  assert.deepEqual(fs.readdirSync(folder), []);
});

test("a restart sends what waited, in order and before what is new", async () => {
  const away = world({ outcome: () => "later" });
  for (let n = 0; n < 5; n += 1) away.spool.add({ n });
  away.spool.stop();
  const { sent, spool } = world({ folder: away.folder });
  spool.add({ n: 5 });
  await until(() => sent.length === 6);
  assert.deepEqual(sent, [0, 1, 2, 3, 4, 5]);
});

test("what waits is sent when the service is there again", async () => {
  let there = false;
  const { sent, spool } = world({ outcome: () => (there ? "done" : "later") });
  for (let n = 0; n < 3; n += 1) spool.add({ n });
  await sleep(50);
  assert.deepEqual(sent, []);
  there = true;
  spool.kick();
  await until(() => sent.length === 3);
});

test("a torn file and one half-written are passed over", async () => {
  const { folder, sent, warnings, spool } = world();
  fs.writeFileSync(path.join(folder, "000000000000001-00000000.json"), '{"n": 4');
  fs.writeFileSync(path.join(folder, "000000000000002-00000000.json.tmp"), '{"n":');
  spool.add({ n: 1 });
  await until(() => sent.length === 1 && !spool.waiting().length);
  assert.deepEqual(sent, [1]);
  assert.match(warnings.join("\n"), /dropped \(unreadable\)/);
});

test("a full disk keeps writes in memory, in order", async () => {
  let there = false;
  const { folder, sent, warnings, spool } = world({ outcome: () => (there ? "done" : "later") });
  spool.add({ n: 0 });
  const write = fs.writeFileSync;
  fs.writeFileSync = () => {
    throw Object.assign(new Error("no space"), { code: "ENOSPC" });
  };
  try {
    spool.add({ n: 1 });
    spool.add({ n: 2 });
  } finally {
    fs.writeFileSync = write;
  }
  spool.add({ n: 3 });
  assert.equal(fs.readdirSync(folder).length, 2);
  assert.match(warnings.join("\n"), /ENOSPC/);
  there = true;
  spool.kick();
  await until(() => sent.length === 4);
  assert.deepEqual(sent, [0, 1, 2, 3]);
});

test("a spool that is full drops the oldest", async () => {
  const { warnings, spool } = world({ outcome: () => "later", bytes: 500 });
  for (let n = 0; n < 100; n += 1) spool.add({ n, text: "x".repeat(80) });
  assert.ok(spool.waiting().length < 10);
  assert.match(warnings.join("\n"), /the spool is full/);
  spool.stop();
});

test("what the service refuses is not sent again, and holds nothing up", async () => {
  const { sent, warnings, spool } = world({ outcome: ({ n }) => (n === 1 ? "unknown_speaker" : "done") });
  for (let n = 0; n < 3; n += 1) spool.add({ n });
  await until(() => sent.length === 2);
  assert.deepEqual(sent, [0, 2]);
  assert.match(warnings.join("\n"), /dropped \(unknown_speaker\)/);
});
