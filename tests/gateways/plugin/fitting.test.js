import assert from "node:assert/strict";
import { test } from "node:test";

import { fitting, sendFitting } from "../../../integrations/openclaw/fitting.js";

const size = (body) => Buffer.byteLength(JSON.stringify(body));

test("what fits is sent as it is", () => {
  const body = { id: "1", user: "hello", reply: "yes" };
  assert.deepEqual(fitting(body, 1000), { body, cut: 0 });
});

for (const [what, letter] of Object.entries({ plain: "x", Chinese: "茶", escaped: "\u0001", emoji: "🎉", halves: "\ud83d" })) {
  test(`a long text is cut, and says so: ${what}`, () => {
    const { body, cut } = fitting({ id: "1", at: "now", user: letter.repeat(50_000), reply: "yes" }, 20_000);
    assert.ok(size(body) <= 20_000);
    assert.ok(size(body) > 8_000, "as much as fits stays");
    assert.ok(cut > 0);
    assert.match(body.user, /more characters were too long for the memory/);
    assert.deepEqual([body.id, body.at, body.reply], ["1", "now", "yes"]);
  });
}

test("two long texts share the room", () => {
  const { body } = fitting({ user: "x".repeat(50_000), reply: "y".repeat(50_000) }, 20_000);
  assert.ok(size(body) <= 20_000);
  assert.ok(body.user.length > 4_000 && body.reply.length > 4_000);
});

test("a service that takes less gets less", async () => {
  const sizes = [];
  const cuts = [];
  const send = async (body) => {
    sizes.push(size(body));
    if (size(body) > 5_000) throw Object.assign(new Error("too large"), { code: "too_large" });
    return "kept";
  };
  const answer = await sendFitting({ user: "x".repeat(100_000) }, 40_000, send, (cut) => cuts.push(cut));
  assert.equal(answer, "kept");
  assert.ok(sizes.at(-1) > 1_000 && sizes.length < 6);
  assert.equal(cuts.length, 1);
});

test("what no service takes is refused in the end", async () => {
  const send = async () => {
    throw Object.assign(new Error("too large"), { code: "too_large" });
  };
  await assert.rejects(sendFitting({ user: "x" }, 40_000, send, () => {}), { code: "too_large" });
});
