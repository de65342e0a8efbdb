import assert from "node:assert/strict";
import { test } from "node:test";

import { isConversation, isHttpRun, speakerOf } from "../../../integrations/openclaw/facts.js";

const config = {
  gateway: { auth: { mode: "token" } },
  commands: { ownerAllowFrom: ["telegram:111"] },
  session: { identityLinks: { zoe: ["telegram:222", "discord:9"] } },
};
const main = { agentId: "main", sessionKey: "agent:main:main" };
const direct = (sender) => ({ ...main, channel: "telegram", accountId: "default", senderId: sender, chatId: sender });

test("in one key, each turn is its sender's", () => {
  const owner = speakerOf(direct("111"), { config });
  const zoe = speakerOf(direct("222"), { config });
  assert.deepEqual([owner.key, owner.sender_id, owner.is_owner], ["agent:main:main", "111", true]);
  assert.deepEqual([zoe.key, zoe.sender_id, zoe.is_owner, zoe.person], ["agent:main:main", "222", false, "zoe"]);
  assert.deepEqual([owner.chat_type, zoe.chat_type], ["direct", "direct"]);
});

test("the channel's word on a group comes before the key", () => {
  const ctx = { ...direct("111"), chatId: "-5" };
  assert.equal(speakerOf(ctx, { config, isGroup: true }).chat_type, "group");
  assert.equal(speakerOf({ ...ctx, sessionKey: "agent:main:telegram:group:-5" }, { config }).chat_type, "group");
  assert.equal(speakerOf(ctx, { config }).chat_type, "");
});

test("a chat or an agent has the project that the config names", () => {
  const projects = { "telegram:-5": "apollo", main: "zeus" };
  assert.equal(speakerOf({ ...direct("111"), chatId: "-5" }, { config, projects }).project, "apollo");
  assert.equal(speakerOf(direct("222"), { config, projects }).project, "zeus");
  assert.equal(speakerOf({ ...direct("222"), agentId: "other" }, { config, projects }).project, undefined);
});

test("what a channel calls somebody is told, and proves nothing", () => {
  const names = { sender: "telegram:111", chat: "Friends" };
  const speaker = speakerOf(direct("333"), { config, names });
  assert.deepEqual([speaker.sender_name, speaker.chat_title], ["telegram:111", "Friends"]);
  assert.deepEqual([speaker.sender_id, speaker.is_owner, speaker.person], ["333", false, ""]);
  assert.equal("sender_name" in speakerOf(direct("333"), { config }), false);
});

test("a websocket's client is nobody by its own name", () => {
  const ctx = { ...main, channel: "webchat", senderId: "gateway-client", chatId: "agent:main:main" };
  const speaker = speakerOf(ctx, { config });
  assert.deepEqual([speaker.channel, speaker.sender_id, speaker.is_owner], ["webchat", undefined, false]);
  const admin = speakerOf(ctx, { config, admin: true });
  assert.deepEqual([admin.channel, admin.sender_id, admin.is_owner], ["openclaw", "operator", true]);
});

test("an operator is nobody where several people may be operators", () => {
  const ctx = { ...main, channel: "webchat" };
  for (const gateway of [
    { auth: { mode: "trusted-proxy" } },
    { auth: { mode: "none" } },
    { auth: { mode: "token", allowTailscale: true } },
    { auth: { mode: "token" }, tailscale: { mode: "serve" } },
  ]) {
    const speaker = speakerOf(ctx, { config: { ...config, gateway }, admin: true });
    assert.deepEqual([speaker.sender_id, speaker.is_owner], [undefined, false]);
  }
});

test("a caller that names a channel has no sender there", () => {
  const key = "agent:main:telegram:direct:222";
  const speaker = speakerOf({ agentId: "main", sessionKey: key, channel: "telegram" }, { config, admin: true });
  assert.deepEqual([speaker.key, speaker.channel, speaker.sender_id], [key, "openclaw", "operator"]);
});

test("what nobody said is no conversation", () => {
  assert.ok(isConversation({ ...main, trigger: "user" }));
  assert.ok(!isConversation({ ...main, trigger: "heartbeat" }));
  assert.ok(!isConversation({ ...main, trigger: "user", inputProvenance: { kind: "inter_session" } }));
  assert.ok(!isConversation({ sessionKey: "agent:main:subagent:1", trigger: "user" }));
  assert.ok(!isConversation({ sessionKey: "agent:main:dashboard:incognito-1", trigger: "user" }));
  assert.ok(!isConversation({ trigger: "user" }));
});

test("a run over HTTP has the id that the gateway made, and no sender", () => {
  const runId = "chatcmpl_68b9b44d-2a7b-48d3-8702-cb9ed89f4491";
  assert.ok(isHttpRun({ runId }));
  assert.ok(!isHttpRun({ runId, senderId: "gateway-client" }));
  assert.ok(!isHttpRun({ runId: "k1" }));
});
