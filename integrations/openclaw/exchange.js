// The new exchange in the messages of a whole session.
import { createHash } from "node:crypto";

// `/memory`, or 记忆 in its place: a Chinese name may follow at once. The slash may be full-width.
export const COMMAND = /^\s*[/／](?:memory|记忆|記憶)(?:@\w+)?(?=\s|$|[\u3400-\u9fff])/i;

function textOf({ content }) {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .filter((part) => part?.type === "text" && typeof part.text === "string")
    .map((part) => part.text)
    .join("\n");
}

// What a run added to a session: {key, user, reply, at}, or undefined if there is nothing to remember.
// since: when the run began, in ms. A message that was written into the running turn belongs to it too.
export function newExchange(messages, since) {
  const last = messages.findLastIndex((message) => message?.role === "user");
  if (last < 0) return undefined;
  const first = messages.findIndex((message) => message?.role === "user" && message.timestamp >= since);
  const from = first < 0 ? last : first;
  const said = messages.slice(from).filter((message) => message?.role === "user");
  const replies = messages.slice(last + 1).filter((message) => message?.role === "assistant");
  const user = said.map(textOf).filter(Boolean).join("\n\n");
  const reply = replies.map(textOf).filter((text) => text.trim()).at(-1) ?? "";
  if (!user.trim() || !reply.trim() || COMMAND.test(user)) return undefined;
  const at = new Date(messages[from].timestamp ?? Date.now()).toISOString();
  return { key: messages[from].idempotencyKey, user, reply, at };
}

// An id for a write: the same for the same things, and no longer than the service takes.
export function idOf(...parts) {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 40);
}
