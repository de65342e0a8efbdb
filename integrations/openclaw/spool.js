// What is to be written while the service is away: a file for each write, in a folder, sent in order.
//
// A file gets its name by a rename, so none is ever seen half-written, and it goes when the service has answered. After
// a crash it is sent again with the same id, which the service takes once. Other processes of the same gateway (a
// one-shot command) may leave files too.
import { randomBytes } from "node:crypto";
import fs from "node:fs";
import path from "node:path";

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 10_000;
const MOST_IN_MEMORY = 1_000;
const NAME = /^\d{15}-[0-9a-f]{8}\.json$/;

export class Spool {
  #folder;
  #send;
  #log;
  #bytes;
  #last = 0;
  #unwritten = new Map(); // what the disk did not take, by name
  #running = false;
  #stopped = false;
  #timer;
  #wait = FIRST_WAIT_MS;

  // folder: where the files are. send: async (entry) => "done" | "refused" | "later". bytes: the most that is kept.
  constructor({ folder, send, log, bytes }) {
    this.#folder = folder;
    this.#send = send;
    this.#log = log;
    this.#bytes = bytes;
  }

  // Keep a write, and begin to send. The file is there when this returns; on a full disk, the memory holds it.
  add(entry) {
    this.#last = Math.max(Date.now(), this.#last + 1, this.#newest() + 1);
    const name = `${String(this.#last).padStart(15, "0")}-${randomBytes(4).toString("hex")}.json`;
    const target = path.join(this.#folder, name);
    const temporary = `${target}.tmp`;
    try {
      fs.mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      this.#makeRoom();
      fs.writeFileSync(temporary, JSON.stringify(entry), { mode: 0o600 });
      fs.renameSync(temporary, target);
    } catch (error) {
      fs.rmSync(temporary, { force: true });
      if (this.#unwritten.size >= MOST_IN_MEMORY) this.#unwritten.delete(this.#unwritten.keys().next().value);
      this.#unwritten.set(name, entry);
      this.#log.warn(`gateway-memory: the spool cannot be written (${error.code}); what waits is kept in memory`);
    }
    this.kick();
  }

  // Send what waits, now: the service is there.
  kick() {
    this.#wait = FIRST_WAIT_MS;
    clearTimeout(this.#timer);
    if (!this.#running && !this.#stopped) this.#run();
  }

  stop() {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  // The names of what waits, in the order in which it is sent.
  waiting() {
    return [...this.#files(), ...this.#unwritten.keys()].sort();
  }

  async #run() {
    this.#running = true;
    try {
      while (!this.#stopped) {
        const [name] = this.waiting();
        if (name === undefined) return;
        const entry = this.#read(name);
        const outcome = entry === undefined ? "unreadable" : await this.#send(entry);
        if (outcome === "later") {
          this.#timer = setTimeout(() => this.#running || this.#stopped || this.#run(), this.#wait);
          this.#timer.unref();
          this.#wait = Math.min(this.#wait * 2, LONGEST_WAIT_MS);
          return;
        }
        if (outcome !== "done") this.#log.warn(`gateway-memory: a write was dropped (${outcome})`);
        this.#wait = FIRST_WAIT_MS;
        this.#unwritten.delete(name);
        fs.rmSync(path.join(this.#folder, name), { force: true });
      }
    } catch (error) {
      this.#log.warn(`gateway-memory: the spool cannot be read (${error.code ?? error.name})`);
    } finally {
      this.#running = false;
    }
  }

  #files() {
    try {
      return fs.readdirSync(this.#folder).filter((name) => NAME.test(name));
    } catch {
      return [];
    }
  }

  #newest() {
    return this.waiting().reduce((newest, name) => Math.max(newest, Number.parseInt(name, 10)), 0);
  }

  #read(name) {
    if (this.#unwritten.has(name)) return this.#unwritten.get(name);
    try {
      return JSON.parse(fs.readFileSync(path.join(this.#folder, name), "utf8"));
    } catch (error) {
      if (error instanceof SyntaxError || error.code === "ENOENT") return undefined; // torn by a power cut, or sent
      throw error;
    }
  }

  // The oldest go when the folder is full, since what is said last counts most.
  #makeRoom() {
    const files = this.#files().sort();
    const sizes = files.map((name) => fs.statSync(path.join(this.#folder, name), { throwIfNoEntry: false })?.size ?? 0);
    let total = sizes.reduce((sum, size) => sum + size, 0);
    let dropped = 0;
    while (total > this.#bytes && dropped < files.length) {
      fs.rmSync(path.join(this.#folder, files[dropped]), { force: true });
      total -= sizes[dropped++];
    }
    if (dropped) this.#log.warn(`gateway-memory: the spool is full; ${dropped} of the oldest writes were dropped`);
  }
}
