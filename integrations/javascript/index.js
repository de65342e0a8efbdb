// A client of the gateway-memory service: the calls of its OpenAPI file, each a request that ends in time.
//
// The names of the calls and the types of their bodies are in schema.d.ts, which `make javascript` writes.

const SECONDS = 10;

// The service refused a request, or could not be reached. code: the contract's, such as "unknown_speaker"; "away" where
// nothing answered. where: the dotted path in the body, or "". status: of HTTP, 0 where nothing answered.
export class MemoryError extends Error {
  constructor(code, message, { where = "", status = 0, cause } = {}) {
    super(message, { cause });
    this.name = "MemoryError";
    this.code = code;
    this.where = where;
    this.status = status;
  }
}

export class MemoryClient {
  #base;
  #token;
  #fetch;
  #seconds;

  // url: where the service listens, such as "http://127.0.0.1:8321". token: of a host. seconds: the most that a call may
  // take. fetch: in the place of the global one, such as one for a Unix socket.
  constructor({ url, token, seconds = SECONDS, fetch = globalThis.fetch }) {
    this.#base = url.replace(/\/+$/, "");
    this.#token = token;
    this.#fetch = fetch;
    this.#seconds = seconds;
  }

  // Answer one call of the service. name: such as "before_reply". Throws MemoryError.
  async call(name, body = {}) {
    let response;
    let text;
    try {
      response = await this.#fetch(`${this.#base}/v1/${name}`, {
        method: "POST",
        headers: { "Authorization": `Bearer ${this.#token}`, "Content-Type": "application/json" },
        body: JSON.stringify(body),
        redirect: "error",
        signal: AbortSignal.timeout(1000 * this.#seconds),
      });
      text = await response.text();
    } catch (cause) {
      throw new MemoryError("away", `gateway-memory did not answer at ${this.#base}: ${cause.message}`, { cause });
    }
    let answer;
    try {
      answer = JSON.parse(text);
    } catch (cause) {
      const what = `${this.#base} answered ${response.status} without JSON: is it a gateway-memory service?`;
      throw new MemoryError("not_json", what, { status: response.status, cause });
    }
    if (!response.ok) {
      const { code = "unknown", message = text, where = "" } = answer?.error ?? {};
      throw new MemoryError(code, message, { where, status: response.status });
    }
    return answer;
  }

  // Yield the rows of a list, page by page. name: such as "list_memories". Throws MemoryError.
  async *rows(name, body = {}) {
    let after = body.after ?? "";
    do {
      const page = await this.call(name, { ...body, after });
      yield* page.rows;
      after = page.next;
    } while (after);
  }
}
