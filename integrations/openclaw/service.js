// The service over HTTP: every call ends in time, and a service that is away costs one deadline, then nothing.
import fs from "node:fs";
import http from "node:http";
import https from "node:https";

const PROBE_MS = 1_000;
const FIRST_PROBE_WAIT_MS = 250;
const LONGEST_PROBE_WAIT_MS = 10_000;
const LONGEST_PAUSE_MS = 60_000;
const MOST_BYTES = 8 * 1024 * 1024;

// The service did not answer, or it says that it cannot now: repeat later with the same id.
export class Away extends Error {}

// The service refused. code: the contract's, such as "unknown_speaker".
export class Refused extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export class Service {
  #base;
  #socketPath;
  #agent;
  #tokenFiles;
  #tokens = new Map();
  #log;
  #back;
  #away = false;
  #pauseUntil = 0;
  #pause = 0;
  #probeWait = FIRST_PROBE_WAIT_MS;
  #timer;
  #closed = false;

  // url: http://…, https://… or unix:/path. tokenFiles: (agent) => path. back: called when the service is there again.
  constructor({ url, tokenFiles, log, back }) {
    this.#socketPath = url.startsWith("unix:") ? url.slice("unix:".length) : undefined;
    this.#base = new URL(this.#socketPath ? "http://localhost" : url);
    const { Agent } = this.#base.protocol === "https:" ? https : http;
    this.#agent = new Agent({ keepAlive: true, maxSockets: 16 });
    this.#tokenFiles = tokenFiles;
    this.#log = log;
    this.#back = back;
  }

  // Ask for something that a reply waits for: at most ms, and not at all while the service is away.
  // Throws Away or Refused.
  async ask(path, agent, body, ms) {
    if (this.#away || Date.now() < this.#pauseUntil) throw new Away("away");
    try {
      const answer = await this.#post(path, agent, body, ms);
      this.#pause = 0;
      return answer;
    } catch (error) {
      if (error.name === "TimeoutError") {
        this.#pause = Math.min(this.#pause * 2 || PROBE_MS, LONGEST_PAUSE_MS);
        this.#pauseUntil = Date.now() + this.#pause;
      }
      throw this.#translated(error);
    }
  }

  // Write something. Nobody waits for it. Throws Away or Refused.
  async write(path, agent, body, ms) {
    if (this.#away) throw new Away("away");
    try {
      return await this.#post(path, agent, body, ms);
    } catch (error) {
      throw this.#translated(error);
    }
  }

  close() {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#agent.destroy();
  }

  async #post(path, agent, body, ms) {
    const signal = AbortSignal.timeout(ms);
    const data = JSON.stringify(body);
    const send = () => this.#request("POST", path, this.#token(agent), data, signal);
    let { status, answer } = await send();
    if (status === 401 && this.#tokens.delete(agent)) ({ status, answer } = await send()); // a new token
    this.#probeWait = FIRST_PROBE_WAIT_MS;
    if (status === 200) return answer;
    const { code = "internal", message = "" } = answer?.error ?? {};
    if (status === 401 || status === 408 || status === 429 || status >= 500) throw new Away(`${status} ${code}`);
    throw new Refused(status, code, message);
  }

  #token(agent) {
    try {
      if (!this.#tokens.has(agent)) this.#tokens.set(agent, fs.readFileSync(this.#tokenFiles(agent), "utf8").trim());
    } catch (error) {
      throw new Away(`token: ${error.code}`); // the service makes it at its first start
    }
    return this.#tokens.get(agent);
  }

  async #request(method, path, token, data, signal) {
    try {
      return await this.#once(method, path, token, data, signal);
    } catch (error) {
      if (!error.reused || signal.aborted) throw error;
      return await this.#once(method, path, token, data, signal); // the idle connection had been closed
    }
  }

  #once(method, path, token, data, signal) {
    const { request: start } = this.#base.protocol === "https:" ? https : http;
    return new Promise((resolve, reject) => {
      const headers = data ? { "content-type": "application/json", "content-length": Buffer.byteLength(data) } : {};
      if (token) headers.authorization = `Bearer ${token}`;
      const options = { method, headers, agent: this.#agent, signal, socketPath: this.#socketPath };
      const failed = (error) => {
        const cause = signal.aborted ? signal.reason : error;
        reject(Object.assign(cause, { reused: request.reusedSocket }));
      };
      const request = start(new URL(path, this.#base), options, (response) => {
        const parts = [];
        let size = 0;
        response.on("error", failed);
        response.on("data", (part) => {
          size += part.length;
          if (size > MOST_BYTES) response.destroy(new Error("too large"));
          else parts.push(part);
        });
        response.on("end", () => {
          try {
            const text = Buffer.concat(parts).toString("utf8");
            resolve({ status: response.statusCode, answer: text ? JSON.parse(text) : {} });
          } catch (error) {
            failed(error);
          }
        });
      });
      request.on("error", failed);
      request.end(data);
    });
  }

  #translated(error) {
    if (error instanceof Away || error instanceof Refused) return error;
    const why = typeof error.code === "string" ? error.code : error.name;
    this.#lost(why);
    return new Away(why);
  }

  #lost(why) {
    if (this.#away || this.#closed) return;
    this.#away = true;
    this.#log.warn(`gateway-memory: the service does not answer (${why}); replies go on without it`);
    this.#probe();
  }

  // Look whether the service is there. The wait grows until a call succeeds, not only a look.
  #probe() {
    if (this.#closed) return;
    this.#timer = setTimeout(async () => {
      try {
        const { status } = await this.#once("GET", "/readyz", undefined, undefined, AbortSignal.timeout(PROBE_MS));
        if (status !== 200) return this.#probe();
      } catch {
        return this.#probe();
      }
      this.#away = false;
      this.#log.info("gateway-memory: the service is there again");
      this.#back();
    }, this.#probeWait);
    this.#timer.unref();
    this.#probeWait = Math.min(this.#probeWait * 2, LONGEST_PROBE_WAIT_MS);
  }
}
