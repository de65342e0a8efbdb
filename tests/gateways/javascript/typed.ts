// The compiler checks this file: what the types allow, and what they refuse.
import { MemoryClient, MemoryError } from "../../../integrations/javascript/index.js";

const client = new MemoryClient({ url: "http://127.0.0.1:8321", token: "…" });

export async function told(): Promise<string[]> {
  const before = await client.call("before_reply", { speaker: { key: "k" }, message: "Hello" });
  const texts: string[] = [before.opening, before.context];
  for await (const row of client.rows("list_memories", { speaker: { key: "k" }, limit: 10 })) texts.push(row.text);
  // @ts-expect-error No such call.
  await client.call("list_everything");
  // @ts-expect-error A speaker is needed.
  await client.call("search", { query: "x" });
  // @ts-expect-error The limit is a number.
  client.rows("list_replies", { speaker: { key: "k" }, limit: "10" });
  // @ts-expect-error It answers with no pages.
  client.rows("flush");
  // @ts-expect-error There is no such field.
  texts.push(before.contexts);
  return texts;
}

export const codeOf = (error: MemoryError): string => `${error.code} ${error.where} ${error.status}`;
