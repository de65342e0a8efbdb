// Long-term memory for OpenClaw: what a gateway-memory service knows goes before a reply, what was said goes after it.
import { randomUUID } from "node:crypto";
import path from "node:path";

import { COMMAND, idOf, newExchange } from "./exchange.js";
import { sendFitting } from "./fitting.js";
import { isConversation, isHttpRun, speakerOf } from "./facts.js";
import { Refused, Service } from "./service.js";
import { Spool } from "./spool.js";
import { registerTools } from "./tools.js";

const ID = "gateway-memory";
const COMMAND_MS = 15_000;
const WRITE_MS = 10_000;
const MOST_BYTES = 4_000_000; // of one call; the service takes 4 MiB by default
const MOST_KEPT = 2_000;
const MOST_CALLERS = 20;
const ENDS = new Set(["new", "reset", "idle", "daily", "deleted"]); // the others go on with the same conversation
const SHARED = Symbol.for("gateway-memory.openclaw");

// OpenClaw registers a plugin several times in one process, and asks a later registration for its tools: what they have
// in common is the process's.
const shared = (globalThis[SHARED] ??= {
  turns: new Map(), // by run: {since, step, speaker, handled, id}
  groups: new Map(), // whether a chat is a group, as its channel said
  names: new Map(), // what a channel calls a sender, or a chat, by its place
  callers: new Map(), // by seat: [{step, admin}], as OpenClaw resolved the callers of turns
  told: new Set(),
  step: 0,
});

function keep(map, key, value) {
  map.delete(key);
  map.set(key, value);
  if (map.size > MOST_KEPT) map.delete(map.keys().next().value);
}

class Memory {
  constructor(api) {
    const settings = api.pluginConfig ?? {};
    this.log = api.logger;
    this.config = () => api.runtime.config.current();
    this.deadline = settings.deadlineMs ?? 2_000;
    this.projects = settings.projects ?? {};
    const own = settings.tokenFile ?? path.join(api.runtime.state.resolveStateDir(), ID, "token");
    this.service = new Service({
      url: settings.url ?? "http://127.0.0.1:8765",
      tokenFiles: (agent) => settings.agents?.[agent]?.tokenFile ?? own,
      log: this.log,
      back: () => this.spool.kick(),
    });
    this.spool = new Spool({
      folder: path.join(api.runtime.state.resolveStateDir(), ID, "spool"),
      send: (entry) => this.send(entry),
      log: this.log,
      bytes: (settings.spoolMegabytes ?? 64) * 1024 * 1024,
    });
    this.spool.kick();
  }

  close() {
    this.spool.stop();
    this.service.close();
  }

  async send({ path: where, agent, body }) {
    try {
      const write = (fitted) => this.service.write(where, agent, fitted, WRITE_MS);
      await sendFitting(body, MOST_BYTES, write, (cut) => {
        this.log.warn(`gateway-memory: a turn is too long; its last ${cut} characters are not remembered`);
      });
      return "done";
    } catch (error) {
      if (error instanceof Refused) {
        this.refused(error);
        return error.code;
      }
      return "later";
    }
  }

  write(where, agent, body) {
    this.spool.add({ path: where, agent, body });
  }

  ask(where, speaker, body, ms) {
    const ask = (fitted) => this.service.ask(where, speaker.agent, { speaker, ...fitted }, ms);
    return sendFitting(body, MOST_BYTES, ask, () => {}); // what is kept says it, and the end of a question tells little
  }

  // Each refusal is told once: it says what to settle, and would come with every message.
  refused(error) {
    const words = `${error.code}: ${error.message}`;
    if (shared.told.has(words)) return;
    if (shared.told.size >= MOST_KEPT) shared.told.clear();
    shared.told.add(words);
    this.log.warn(`gateway-memory: the service refuses: ${words}`);
  }

  speaker(ctx, more) {
    const isGroup = shared.groups.get(placeOf(ctx.channel, ctx.accountId, ctx.chatId));
    const names = {
      sender: shared.names.get(senderOf(ctx.channel, ctx.accountId, ctx.senderId)),
      chat: shared.names.get(placeOf(ctx.channel, ctx.accountId, ctx.chatId)),
    };
    return speakerOf(ctx, { config: this.config(), isGroup, projects: this.projects, names, ...more });
  }

  async command(id, speaker, words) {
    try {
      const { answer } = await this.ask("/v1/command", speaker, { id, text: words.trim() }, COMMAND_MS);
      return { text: answer ?? "This is no command of the memory; try /memory help." };
    } catch (error) {
      return { text: `The memory did not carry that out: ${this.words(error)}` };
    }
  }

  words(error) {
    if (error instanceof Refused) return error.message;
    return "its service does not answer. Please try again later.";
  }
}

const placeOf = (channel, account, chat) => JSON.stringify([channel ?? "", account ?? "", String(chat ?? "")]);
const senderOf = (channel, account, sender) => `sender ${placeOf(channel, account, sender)}`;
const seatOf = (ctx) => JSON.stringify([ctx.agentId, ctx.sessionKey, ctx.requesterSenderId ?? ctx.senderId ?? ""]);

// A turn's tools are made before its prompt: there the host says whether the caller is an operator with every right.
function sawCaller(context) {
  const seat = seatOf(context);
  const seen = [...(shared.callers.get(seat) ?? []), { step: shared.step++, admin: context.senderIsOwner === true }];
  keep(shared.callers, seat, seen.slice(-MOST_CALLERS));
}

// Whether everything that was said of the caller since a turn began says so.
function isAdmin(ctx, turn) {
  const seen = (shared.callers.get(seatOf(ctx)) ?? []).filter(({ step }) => step >= turn.step);
  return seen.length > 0 && seen.every(({ admin }) => admin);
}

function beginTurn(ctx) {
  keep(shared.turns, ctx.runId, { since: Date.now(), step: shared.step++ });
}

async function beforePrompt(memory, event, ctx) {
  if (!isConversation(ctx)) return undefined;
  const message = event.currentUserMessage || event.prompt;
  if (!shared.turns.has(ctx.runId)) beginTurn(ctx);
  const turn = shared.turns.get(ctx.runId);
  const speaker = memory.speaker(ctx, { admin: isAdmin(ctx, turn) });
  turn.speaker = speaker;
  if (!message.trim() || COMMAND.test(message)) return undefined;
  try {
    const told = await memory.ask("/v1/before_reply", speaker, { message, ephemeral: true, placement: "beside" }, memory.deadline);
    // The rule tells of a shell on the service's machine. Here the tools save.
    return {
      ...(told.context ? { prependContext: told.context } : {}),
      ...(told.opening ? { appendSystemContext: told.opening } : {}),
    };
  } catch (error) {
    if (error instanceof Refused) memory.refused(error);
    return undefined;
  }
}

function afterTurn(memory, event, ctx) {
  const turn = shared.turns.get(ctx.runId);
  if (!event.success || !isConversation(ctx) || turn?.handled) return;
  const exchange = newExchange(event.messages, turn?.since ?? Number.POSITIVE_INFINITY);
  if (!exchange) return;
  const { key, ...said } = exchange;
  const speaker = turn?.speaker ?? memory.speaker(ctx);
  const id = turn?.id ?? idOf("turn", speaker.agent, ctx.sessionKey, ctx.sessionId, key ?? ctx.runId);
  if (turn) turn.id = id; // a run whose model fails is tried again, with the same message
  memory.write("/v1/after_reply", speaker.agent, { id, speaker, ...said, ephemeral: true });
}

async function answerCommand(memory, event, ctx) {
  if (!isConversation(ctx) || !COMMAND.test(event.cleanedBody)) return undefined;
  shared.turns.get(ctx.runId).handled = true;
  const speaker = memory.speaker(ctx, { admin: isHttpRun(ctx) });
  const id = idOf("command", ctx.sessionKey, ctx.sessionId, ctx.runId);
  return { handled: true, reply: await memory.command(id, speaker, event.cleanedBody) };
}

// A command that OpenClaw itself hands over, on channels and on its websocket.
function onCommand(memory, ctx) {
  const chat = (ctx.to ?? ctx.from ?? "").split(":").slice(1).join(":");
  const facts = { ...ctx, chatId: chat };
  const group = /^[^:]+:(group|channel|room):/.test(ctx.from ?? "") || undefined;
  const admin = ctx.gatewayClientScopes?.includes("operator.admin") === true;
  const known = group ? { isGroup: true, admin } : { admin };
  return memory.command(randomUUID(), memory.speaker(facts, known), ctx.commandBody);
}

function register(api) {
  const serves = api.registrationMode === "full";
  if (serves) {
    shared.memory?.close();
    shared.memory = new Memory(api);
  }
  const memory = () => shared.memory ?? (shared.memory = new Memory(api));

  // For people who read of them: names prove nothing.
  api.on("message_received", (event, ctx) => {
    const { senderName, senderUsername, channelName } = event.metadata ?? {};
    const sender = senderOf(ctx.channelId, ctx.accountId, event.senderId);
    if (event.senderId && (senderName || senderUsername)) keep(shared.names, sender, String(senderName || senderUsername));
    if (channelName) keep(shared.names, placeOf(ctx.channelId, ctx.accountId, ctx.conversationId), String(channelName));
  });
  api.on("before_dispatch", (event, ctx) => {
    if (typeof event.isGroup !== "boolean") return;
    keep(shared.groups, placeOf(event.channel ?? ctx.channelId, ctx.accountId, ctx.conversationId), event.isGroup);
  });
  api.on(
    "before_agent_reply",
    (event, ctx) => {
      beginTurn(ctx);
      return answerCommand(memory(), event, ctx);
    },
    { eligibleTriggers: ["user"] },
  );
  api.on("before_prompt_build", (event, ctx) => beforePrompt(memory(), event, ctx));
  api.on("agent_end", (event, ctx) => afterTurn(memory(), event, ctx)); // returns at once: a reply may wait for it
  api.on("session_end", (event, ctx) => {
    if (!ENDS.has(event.reason) || !event.sessionKey) return;
    const body = { id: randomUUID(), key: event.sessionKey, reason: event.reason };
    memory().write("/v1/end_session", ctx.agentId ?? "main", body);
  });
  api.on("after_compaction", (_event, ctx) => {
    if (ctx.sessionKey) memory().write("/v1/compaction", ctx.agentId ?? "main", { key: ctx.sessionKey, done: true });
  });

  api.registerCommand({
    name: "memory",
    description: "What is remembered: search, forget, undo, off, help",
    acceptsArgs: true,
    requireAuth: false, // everybody has a memory of their own, and the service knows whose it is
    handler: (ctx) => onCommand(memory(), ctx),
  });

  const call = async (tool, context, given, callId) => {
    const ctx = { ...context, channel: context.messageChannel, accountId: context.agentAccountId };
    ctx.chatId = context.nativeChannelId;
    ctx.senderId = context.requesterSenderId;
    const speaker = memory().speaker(ctx, { admin: context.senderIsOwner === true });
    const id = tool.writes ? { id: idOf("tool", ctx.sessionKey, ctx.sessionId, callId) } : {};
    return await memory().ask(tool.path, speaker, { ...given, ...id }, COMMAND_MS);
  };
  call.words = (error) => memory().words(error);
  call.seen = sawCaller;
  registerTools(api, call);

  api.registerService({
    id: ID,
    start: () => memory().spool.kick(),
    stop: () => {
      shared.memory?.close();
      shared.memory = undefined;
    },
  });
}

export default {
  id: ID,
  name: ID,
  description: "Long-term memory from a gateway-memory service",
  kind: "memory",
  register,
};
