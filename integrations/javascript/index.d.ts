import type { operations } from "./schema.js";

/** A call of the service: the name of an operation of its OpenAPI file. */
export type Call = {
  [Name in keyof operations]: operations[Name] extends { requestBody: { content: { "application/json": unknown } } } ? Name : never;
}[keyof operations];

/** What a call is sent. */
export type Body<Name extends Call> = operations[Name] extends { requestBody: { content: { "application/json": infer Sent } } }
  ? Sent
  : never;

/** What a call answers. */
export type Answer<Name extends Call> = operations[Name] extends {
  responses: { 200: { content: { "application/json": infer Told } } };
}
  ? Told
  : never;

/** A call that answers with pages of rows. */
export type List = { [Name in Call]: Answer<Name> extends { rows: unknown[]; next: string } ? Name : never }[Call];

/** What a page of a list has. */
export type Row<Name extends List> = Answer<Name> extends { rows: (infer Each)[] } ? Each : never;

/** Why a call failed. code: the contract's, "away" where nothing answered. where: the dotted path in the body, or "". */
export class MemoryError extends Error {
  readonly code: string;
  readonly where: string;
  readonly status: number;
}

/** A client of one service, for one host. */
export class MemoryClient {
  constructor(options: { url: string; token: string; seconds?: number; fetch?: typeof fetch });
  call<Name extends Call>(name: Name, body?: Body<Name>): Promise<Answer<Name>>;
  rows<Name extends List>(name: Name, body?: Body<Name>): AsyncGenerator<Row<Name>>;
}
