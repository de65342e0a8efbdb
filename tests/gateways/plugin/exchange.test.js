import assert from "node:assert/strict";
import { test } from "node:test";

import { idOf, newExchange } from "../../../integrations/openclaw/exchange.js";

const user = (content, timestamp, more) => ({ role: "user", content, timestamp, ...more });
const assistant = (text) => ({ role: "assistant", content: [{ type: "text", text }] });

test("of a whole session only the new exchange is taken", () => {
  const messages = [user("old", 1), assistant("then"), user([{ type: "text", text: "new" }], 9), assistant("now")];
  const { user: said, reply } = newExchange(messages, 5);
  assert.deepEqual([said, reply], ["new", "now"]);
});

test("the reply is the last text, after the tools", () => {
  const messages = [user("ask", 9), assistant("let me look"), { role: "toolResult", content: "x" }, assistant("it is 4")];
  assert.equal(newExchange(messages, 5).reply, "it is 4");
});

test("a message written into the running turn belongs to it", () => {
  const messages = [user("one", 9, { idempotencyKey: "k" }), assistant("wait"), user("two", 10), assistant("both")];
  const { key, user: said, reply } = newExchange(messages, 5);
  assert.deepEqual([key, said, reply], ["k", "one\n\ntwo", "both"]);
});

test("without the time of a run the last message counts", () => {
  const messages = [user("old", 1), assistant("then"), user("new", 2), assistant("now")];
  assert.equal(newExchange(messages, Number.POSITIVE_INFINITY).user, "new");
});

test("what a person says is handed over also where the assistant says nothing to it", () => {
  assert.equal(newExchange([user("I moved to Porto.", 9), assistant("NO_REPLY")], 5).user, "I moved to Porto.");
});

test("silence, commands and pictures alone are not remembered", () => {
  assert.equal(newExchange([user("hi", 9), assistant(" ")], 5), undefined);
  for (const command of ["/memory search x", "/memory", "／memory list", "/memory忘掉咖啡", "/记忆 列出", "/記憶忘掉咖啡"])
    assert.equal(newExchange([user(command, 9), assistant("found")], 5), undefined);
  assert.equal(newExchange([user([{ type: "image" }], 9), assistant("nice")], 5), undefined);
  assert.equal(newExchange([], 5), undefined);
});

test("an id is the same for the same turn alone", () => {
  assert.equal(idOf("a", "b"), idOf("a", "b"));
  assert.notEqual(idOf("a", "b"), idOf("ab", ""));
});
