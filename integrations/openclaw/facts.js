// Who is speaking: only what OpenClaw has verified, turn by turn, never what a client or a session key says of itself.

const SESSION_KINDS = /^agent:[^:]+:(?:[^:]+:){0,2}?(direct|dm|group|channel|room):/;
const INTERNAL = new Set(["", "webchat", "internal", "openclaw"]);
const HTTP_RUN = /^(chatcmpl|resp)_[0-9a-f-]{36}$/;
const OPERATOR = "operator";

// Runs that are no conversation with somebody: their prompts are neither answered from memory nor remembered.
export function isConversation(ctx) {
  const key = ctx.sessionKey ?? "";
  if (!key || (ctx.trigger && ctx.trigger !== "user")) return false;
  if (ctx.inputProvenance && ctx.inputProvenance.kind !== "external_user") return false;
  return !key.split(":").some((part) => /^(subagent|cron|hook|acp|heartbeat)$/.test(part) || part.startsWith("incognito-"));
}

// The facts of a message's sender.
// ctx: agentId, sessionKey, channel, accountId, chatId, senderId. isGroup: whether the channel said so; undefined if it
// said nothing. admin: whether OpenClaw has resolved this turn's caller as an operator with every right. projects: the
// project of a chat ("telegram:-5") or of an agent ("main"), from the plugin's own config. names: what the channel calls
// the sender and the chat, for people who read of them.
export function speakerOf(ctx, { config, isGroup, projects = {}, admin = false, names = {}, messageId = "" }) {
  const channel = (ctx.channel ?? ctx.messageProvider ?? "").toLowerCase();
  const agent = ctx.agentId ?? "main";
  const speaker = { key: ctx.sessionKey, agent, message_id: String(messageId ?? "") };
  const project = projects[`${channel}:${ctx.chatId ?? ""}`] ?? projects[agent];
  if (project) speaker.project = project;
  // On the internal surfaces the sender's id is the name that the websocket's client gave itself, and over HTTP the
  // caller names the channel: only the credentials of an operator prove something, and only where one secret is theirs.
  if (INTERNAL.has(channel) || !ctx.senderId) {
    const proven = admin && hasOneSecret(config);
    const who = proven ? { channel: "openclaw", sender_id: OPERATOR } : { channel: channel || "openclaw" };
    return { ...speaker, ...who, chat_type: "direct", is_owner: proven };
  }
  const sender = String(ctx.senderId);
  const chat = String(ctx.chatId ?? "");
  return {
    ...speaker,
    channel,
    account_id: ctx.accountId ?? "",
    sender_id: sender,
    chat_id: chat,
    chat_type: chatType(ctx.sessionKey, chat, sender, isGroup),
    is_owner: isListed(config?.commands?.ownerAllowFrom, channel, sender),
    person: personOf(config?.session?.identityLinks, channel, sender),
    ...(names.sender ? { sender_name: names.sender } : {}),
    ...(names.chat ? { chat_title: names.chat } : {}),
  };
}

// Whether a run came over HTTP with the gateway's one secret. OpenClaw treats each of those as the owner's, but tells a
// plugin so only later in the turn.
export function isHttpRun(ctx) {
  return HTTP_RUN.test(ctx.runId ?? "") && !ctx.senderId;
}

// Whether an operator's credentials are one secret. Behind a proxy or a tailnet several people may be operators.
function hasOneSecret(config) {
  const { auth, tailscale } = config?.gateway ?? {};
  const mode = auth?.mode ?? (auth?.password ? "password" : "token");
  const tailnet = auth?.allowTailscale || (tailscale?.mode && tailscale.mode !== "off");
  return (mode === "token" || mode === "password") && !tailnet;
}

// With session.dmScope "main" every direct chat has the key of the main session, and with groupScope "main" every group
// too, so that the channel's own word comes first.
function chatType(key, chat, sender, isGroup) {
  if (isGroup !== undefined) return isGroup ? "group" : "direct";
  const kind = SESSION_KINDS.exec(key ?? "")?.[1];
  if (kind) return kind === "direct" || kind === "dm" ? "direct" : "group";
  return chat && chat === sender ? "direct" : "";
}

function isListed(entries, channel, sender) {
  const names = new Set([`${channel}:${sender}`.toLowerCase(), sender.toLowerCase()]);
  return Array.isArray(entries) && entries.some((entry) => names.has(String(entry).trim().toLowerCase()));
}

function personOf(links, channel, sender) {
  const name = `${channel}:${sender}`.toLowerCase();
  const found = Object.entries(links ?? {}).find(([, peers]) =>
    (Array.isArray(peers) ? peers : []).some((peer) => String(peer).trim().toLowerCase() === name),
  );
  return found?.[0] ?? "";
}
