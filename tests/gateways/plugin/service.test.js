import assert from "node:assert/strict";
import fs from "node:fs";
import http from "node:http";
import os from "node:os";
import path from "node:path";
import { after, test } from "node:test";

import { Away, Refused, Service } from "../../../integrations/openclaw/service.js";

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "service-"));
const tokenFile = path.join(folder, "token");
fs.writeFileSync(tokenFile, "secret\n");
const open = [];
after(() => open.forEach((each) => each()));

async function world(answer, listen = [0, "127.0.0.1"]) {
  const server = http.createServer(answer).listen(...listen);
  await new Promise((resolve) => server.once("listening", resolve));
  const url = typeof listen[0] === "string" ? `unix:${listen[0]}` : `http://127.0.0.1:${server.address().port}`;
  let backs = 0;
  const service = new Service({
    url,
    tokenFiles: () => tokenFile,
    log: { info: () => {}, warn: () => {} },
    back: () => (backs += 1),
  });
  open.push(() => service.close() ?? server.closeAllConnections() ?? server.close());
  return { service, server, backs: () => backs };
}

const say = (response, status, body) => response.writeHead(status).end(JSON.stringify(body));

test("a call has the token and gets the answer", async () => {
  const { service } = await world((request, response) => say(response, 200, { token: request.headers.authorization }));
  assert.deepEqual(await service.ask("/v1/x", "main", {}, 1000), { token: "Bearer secret" });
});

test("a Unix socket does as well", async () => {
  const { service } = await world((_, response) => say(response, 200, { ok: 1 }), [path.join(folder, "socket")]);
  assert.deepEqual(await service.ask("/v1/x", "main", {}, 1000), { ok: 1 });
});

test("a hung service costs one deadline, then nothing, and is found again", async () => {
  let hung = true;
  const { service, backs } = await world((_, response) => hung || say(response, 200, { ok: 1 }));
  const start = performance.now();
  await assert.rejects(service.ask("/v1/x", "main", {}, 200), Away);
  assert.ok(performance.now() - start < 1000);
  const next = performance.now();
  await assert.rejects(service.ask("/v1/x", "main", {}, 200), Away);
  assert.ok(performance.now() - next < 50);
  hung = false;
  while (!backs()) await new Promise((resolve) => setTimeout(resolve, 50));
});

test("a refusal is told apart from what is to be repeated", async () => {
  let status = 403;
  const error = { code: "unknown_speaker", message: "who is it?", where: "" };
  const { service } = await world((_, response) => say(response, status, { error }));
  await assert.rejects(service.ask("/v1/x", "main", {}, 1000), (each) => each instanceof Refused && each.status === 403);
  for (status of [401, 408, 429, 500, 503]) await assert.rejects(service.write("/v1/x", "main", {}, 1000), Away);
});

test("a token that was changed is read anew", async () => {
  let valid = "secret";
  const { service } = await world((request, response) =>
    say(response, request.headers.authorization === `Bearer ${valid}` ? 200 : 401, {}),
  );
  await service.write("/v1/x", "main", {}, 1000);
  valid = "other";
  fs.writeFileSync(tokenFile, valid);
  await service.write("/v1/x", "main", {}, 1000);
});

test("an idle connection that the service closed is made anew", async () => {
  const { service, server } = await world((_, response) => say(response, 200, {}));
  await service.write("/v1/x", "main", {}, 1000);
  server.closeAllConnections();
  await service.write("/v1/x", "main", {}, 1000);
});
