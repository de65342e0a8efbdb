// The client against the real service, whose address and token the environment gives.
import assert from "node:assert/strict";
import http from "node:http";
import { test } from "node:test";
import { MemoryClient, MemoryError } from "../../../integrations/javascript/index.js";

const { MEMORY_URL: url, MEMORY_TOKEN: token } = process.env;
const client = new MemoryClient({ url: `${url}/`, token, seconds: 30 });
const speaker = { key: "agent:main:telegram:direct:7", channel: "telegram", chat_type: "direct", sender_id: "7", sender_name: "佐伊" };

test("what is said is remembered and listed, page by page", async () => {
  for (let number = 0; number < 5; number += 1) {
    const user = `Remember that my boat number ${number} is called Wilma ${number}.`;
    await client.call("before_reply", { speaker, message: user });
    const kept = await client.call("after_reply", { id: `t${number}`, speaker, user, reply: "OK." });
    assert.deepEqual(kept, { turn: number + 1, kept: true });
  }
  await client.call("flush");
  const texts = [];
  for await (const row of client.rows("list_memories", { speaker, limit: 2 })) texts.push(row.text.slice(-7));
  assert.deepEqual(texts.sort(), ["Wilma 0", "Wilma 1", "Wilma 2", "Wilma 3", "Wilma 4"]);
  const people = [];
  for await (const row of client.rows("list_people")) people.push(row.name);
  assert.ok(people.includes("佐伊"));
});

test("a refusal tells its code and where", async () => {
  const failed = (body) => client.call("list_memories", body).then(() => assert.fail("accepted"), (error) => error);
  const unknown = await failed({ speaker, colour: "red" });
  assert.ok(unknown instanceof MemoryError);
  assert.equal(unknown.status, 400);
  assert.match(unknown.where, /colour/);
  assert.equal((await failed({ speaker: { key: "x" } })).code, "unknown_speaker");
  const stranger = new MemoryClient({ url, token: "no token" });
  await assert.rejects(stranger.call("flush"), (error) => error.status === 401);
});

test("a service that is not there, or is another one, is told", async () => {
  const nobody = new MemoryClient({ url: "http://127.0.0.1:1", token });
  await assert.rejects(nobody.call("flush"), (error) => error.code === "away" && error.status === 0);
  const other = http.createServer((_, response) => response.end("<html>"));
  await new Promise((listening) => other.listen(0, "127.0.0.1", listening));
  const elsewhere = new MemoryClient({ url: `http://127.0.0.1:${other.address().port}`, token });
  await assert.rejects(elsewhere.call("flush"), (error) => error.code === "not_json");
  other.close();
});

test("a call ends in time, and follows nobody elsewhere", async () => {
  const slow = http.createServer((request, response) => {
    if (request.url === "/v1/get") response.writeHead(307, { location: `${url}/v1/get` }).end();
  });
  await new Promise((listening) => slow.listen(0, "127.0.0.1", listening));
  const client = new MemoryClient({ url: `http://127.0.0.1:${slow.address().port}`, token, seconds: 0.2 });
  await assert.rejects(client.call("flush"), (error) => error.code === "away");
  await assert.rejects(client.call("get"), (error) => error.code === "away");
  slow.closeAllConnections();
  slow.close();
});
