/**
 * A server with data for the tests of the page: `matins serve` in a temporary folder, with the page that it embeds.
 *
 * The environment can name another program than target/debug/matins (MATINS_BINARY). With MATINS_PAGE, a small server in
 * front of it serves a built page from that folder, with the same content security policy, so that a change of the page
 * needs no build of the program.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { extname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { type Postgresql, startPostgresql } from "./postgresql";
import { written } from "./processes";

const run = promisify(execFile);
const folder = import.meta.dirname;
const binary = resolve(process.env.MATINS_BINARY ?? join(folder, "../../target/debug/matins"));
const dist = process.env.MATINS_PAGE === undefined ? null : resolve(process.env.MATINS_PAGE);
const NONCE = "dGVzdA";
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "worker-src 'self'",
  `style-src 'self' 'nonce-${NONCE}'`,
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'self'",
].join("; ");
const TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
};

export type Role = "admin" | "member" | "viewer";

export interface Stack {
  /** The address of the page. */
  url: string;
  /** The home folder of the server and of its agents. */
  home: string;
  api<T>(method: string, path: string, body?: unknown, secret?: string): Promise<T>;
  command(...words: string[]): Promise<string>;
  /** Returns the path of a link that signs a browser in with a role. */
  signInPath(role?: Role): Promise<string>;
  /** Returns the value of a metric of the server. */
  metric(name: string): Promise<number>;
  /** Stops the server, as with kill -9. */
  killServer(): Promise<void>;
  startServer(): Promise<void>;
  /** Starts a runtime that watches a folder, with the token of the instance. It ends with the stack at the latest. */
  startRuntime(folder: string, secret: string): Promise<Runtime>;
  /** Starts a second server on the same database, with a data folder of its own. The caller stops it. */
  startBeside(name: string): Promise<Stack>;
  stop(): Promise<void>;
}

export interface Runtime {
  /** Ends the runtime, as with Ctrl-C. */
  stop(): Promise<void>;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}

/** Serves the page from a folder, and passes all that belongs to the API on to the server. */
function servePage(dist: string, target: number): Server {
  return createServer(async (incoming, outgoing) => {
    const path = new URL(incoming.url ?? "/", "http://page").pathname;
    if (/^\/(api\/|sign-in)/.test(path)) return forward(target, incoming, outgoing);
    const name = extname(path) === "" ? "/index.html" : path;
    const file = resolve(join(dist, name));
    const found = file.startsWith(dist) ? await readFile(file).catch(() => null) : null;
    if (found === null) {
      outgoing.writeHead(404).end();
      return;
    }
    const content = name === "/index.html" ? found.toString().replace("MATINS_NONCE", NONCE) : found;
    outgoing.writeHead(200, {
      "Content-Type": TYPES[extname(file)] ?? "application/octet-stream",
      "Content-Security-Policy": POLICY,
      "X-Content-Type-Options": "nosniff",
    });
    outgoing.end(content);
  });
}

function forward(port: number, incoming: IncomingMessage, outgoing: ServerResponse): void {
  const host = `127.0.0.1:${port}`;
  const headers = { ...incoming.headers, host };
  if (headers.origin !== undefined) headers.origin = `http://${host}`;
  const passed = httpRequest(
    { host: "127.0.0.1", port, path: incoming.url, method: incoming.method, headers },
    (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
      answer.on("error", () => outgoing.destroy());
    },
  );
  passed.on("error", () => (outgoing.headersSent ? outgoing.destroy() : outgoing.writeHead(502).end()));
  outgoing.on("close", () => passed.destroy());
  incoming.pipe(passed);
}

export type Database = "sqlite" | "postgresql";

/** Ends a process and waits for its end. */
async function end(child: ChildProcess | null, signal: NodeJS.Signals): Promise<void> {
  if (child === null || child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((done) => child.once("exit", done));
  child.kill(signal);
  await ended;
}

/** Starts a server with an agent. `more` are further variables of the server's environment. */
export async function startStack(
  name: string,
  database: Database = "sqlite",
  more: Record<string, string> = {},
): Promise<Stack> {
  const postgresql: Postgresql | null = database === "postgresql" ? await startPostgresql() : null;
  const stack = await startServerOf(name, {
    ...(postgresql === null ? {} : { MATINS_DATABASE: postgresql.url }),
    ...more,
  });
  await stack.api("PUT", "/agents/claude", {
    command: [process.execPath, join(folder, "agent.mjs")],
    permissions: [{ tool: "execute", title: "git push --force*", verdict: "deny" }],
  });
  // The demonstration agent pauses for people who watch a goal. Ten times shorter pauses keep the same steps.
  await stack.api("PUT", "/agents/demo", {
    command: [binary, "demo-agent", "--home", join(stack.home, "data", "demo-agent"), "--pace", "2"],
  });
  return {
    ...stack,
    stop: async () => {
      await stack.stop();
      await postgresql?.stop();
    },
  };
}

/** `shared` is the token of a database that another server has filled. A server makes a token only for an empty one. */
async function startServerOf(name: string, more: Record<string, string>, shared?: string): Promise<Stack> {
  const home = await mkdtemp(join(tmpdir(), `matins-page-${name}-`));
  const data = join(home, "data");
  const port = await freePort();
  // No setting of the machine may reach the server of the tests.
  const environment = {
    PATH: process.env.PATH ?? "",
    HOME: home,
    MATINS_DATA: data,
    TZ: "Europe/Prague",
    ...more,
  };
  let server: ChildProcess | null = null;
  const runtimes: ChildProcess[] = [];
  const startServer = async () => {
    server = spawn(binary, ["serve", "--listen", `127.0.0.1:${port}`], { env: environment, cwd: home });
    await written(server, "Matins is running");
  };
  const killServer = async () => {
    const child = server;
    server = null;
    await end(child, "SIGKILL");
  };
  await startServer();
  const token = shared ?? (await readFile(join(data, "token"), "utf8")).trim();
  const api = async <T>(method: string, path: string, body?: unknown, secret = token): Promise<T> => {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1${path}`, {
      method,
      headers: { Authorization: `Bearer ${secret}`, "Content-Type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return (response.status === 204 ? undefined : await response.json()) as T;
  };
  const command = async (...words: string[]) =>
    (await run(binary, words, { env: environment, cwd: home })).stdout;
  const page = dist === null ? null : servePage(dist, port);
  if (page !== null) await new Promise<void>((done) => page.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${page === null ? port : (page.address() as AddressInfo).port}`,
    home,
    api,
    command,
    signInPath: async (role = "admin") => {
      const { secret } = await api<{ secret: string }>("POST", "/tokens", {
        name: `browser of a ${role}`,
        role,
      });
      return (await api<{ path: string }>("POST", "/sign-in-links", undefined, secret)).path;
    },
    metric: async (name) => {
      const response = await fetch(`http://127.0.0.1:${port}/metrics`, {
        headers: { Authorization: `Bearer ${token}` },
      });
      const line = (await response.text()).split("\n").find((each) => each.startsWith(`${name} `));
      return Number(line?.slice(name.length));
    },
    killServer,
    startServer,
    startRuntime: async (watched, secret) => {
      const file = join(home, `runtime-${runtimes.length}.token`);
      await writeFile(file, secret, { mode: 0o600 });
      const server = `http://127.0.0.1:${port}`;
      const words = ["runtime", "--folder", watched, "--server", server, "--token-file", file];
      // A runtime has no data folder and no database.
      const runtime = spawn(binary, words, { env: { PATH: environment.PATH, HOME: home }, cwd: home });
      runtimes.push(runtime);
      await written(runtime, "Matins watches");
      return { stop: () => end(runtime, "SIGTERM") };
    },
    startBeside: (other) => startServerOf(other, more, token),
    stop: async () => {
      page?.closeAllConnections();
      page?.close();
      // Before the server, of which they would wait for an answer.
      await Promise.all(runtimes.map((runtime) => end(runtime, "SIGKILL")));
      await killServer();
      await rm(home, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** The time zone of the schedules of the tests. */
export const ZONE = "Europe/Prague";

/** Returns a time of day in `ZONE` that is half a day away: a daily schedule does not fire while the tests run. */
export function distantTime(): { time: string; daily: string; weekdays: string } {
  const zoned = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", hourCycle: "h23", timeZone: ZONE });
  const hour = (Number(zoned.format(Date.now())) + 12) % 24;
  return {
    time: `${String(hour).padStart(2, "0")}:00`,
    daily: `0 ${hour} * * *`,
    weekdays: `0 ${hour} * * 1-5`,
  };
}

/** Returns a minute that is half an hour away: an hourly schedule does not fire while a file of tests runs. */
function distantMinute(): number {
  return (new Date().getUTCMinutes() + 30) % 60;
}

interface Named {
  id: string;
}

interface RunRow extends Named {
  status: string;
}

/** Returns when all runs of a session have ended, apart from those that wait for a person. */
export async function settled(stack: Stack, session: string): Promise<void> {
  for (;;) {
    const view = await stack.api<{ open_runs: (RunRow & { blocked_on: unknown })[] }>(
      "GET",
      `/sessions/${session}`,
    );
    if (view.open_runs.length === 0) return;
    const { items } = await stack.api<{ items: Named[] }>("GET", `/approvals?session=${session}`);
    if (items.length > 0) return;
    await new Promise((done) => setTimeout(done, 50));
  }
}

/** Creates a conversation and sends it the messages, one after the other. */
export async function converse(stack: Stack, title: string, ...messages: string[]): Promise<string> {
  const { id } = await stack.api<Named>("POST", "/sessions", { agent: "claude", title });
  for (const text of messages) {
    await stack.api("POST", `/sessions/${id}/messages`, { text });
    await settled(stack, id);
  }
  return id;
}

/** Returns a line of a prompt by which the agent calls a tool of Matins. */
export const call = (tool: string, input: object): string => `call ${tool} ${JSON.stringify(input)}`;

/** Adds an automation and takes one of its turns. Returns the run. */
export async function fireNew(
  stack: Stack,
  name: string,
  prompt: string,
  more: object = {},
): Promise<{ id: string; session_id: string }> {
  await stack.api("POST", "/automations", {
    name,
    prompt,
    agent: "claude",
    session: "fresh",
    policies: { retry: { attempts: 1 } },
    ...more,
  });
  return fire(stack, name);
}

/** Takes a turn of an automation. Returns the run. */
export async function fire(stack: Stack, name: string): Promise<{ id: string; session_id: string }> {
  const run = await stack.api<Named & { session_id: string }>("POST", `/automations/${name}/fire`);
  await settled(stack, run.session_id);
  return run;
}

/** Sends a message to a session and takes its turn. */
export async function say(stack: Stack, session: string, text: string): Promise<void> {
  await stack.api("POST", `/sessions/${session}/messages`, { text });
  await settled(stack, session);
}

/**
 * Fills the server with what tools of agents keep: the memory and the artifacts of the automation `build`, and of a
 * conversation. Returns the conversation and a run of the automation.
 */
export async function seedKept(stack: Stack): Promise<{ session: string; run: string }> {
  const log = Array.from({ length: 40 }, (_, line) => `${line + 1}: upload_test passed`).join("\n");
  const { id: run } = await fireNew(
    stack,
    "build",
    [
      call("remember", {
        key: "build.last_failure",
        value: "upload_test, because the disk was full",
        confidence: 0.8,
        ttl_hours: 240,
      }),
      call("remember", { key: "last log", value: log }),
      call("save_artifact", { name: "report.md", text: "# Report\n", media_type: "text/markdown" }),
      "then fail",
    ].join("\n"),
  );
  await stack.api("PUT", "/automations/build/memory/owner", { value: "Ask Jana about the runners." });
  await stack.api("POST", "/automations", { name: "quiet", prompt: "x", agent: "claude" });
  const session = await converse(
    stack,
    "Three offers",
    call("save_artifact", { name: "offers.csv", text: "offer,price\n", media_type: "text/csv" }),
    call("save_artifact", { name: "offers.csv", text: "offer,price\na,10\n", media_type: "text/csv" }),
    call("save_artifact", { name: "dashboard", uri: "https://grafana.example.com/d/offers?from=now-24h" }),
    call("remember", { key: "favourite", value: "The second offer, because it includes support." }),
  );
  return { session, run };
}

/**
 * Fills the server with the conversations of the pictures. Returns the ID of the one that waits for a person. Its
 * automations have names of their own if `suffix` says so, because a server accepts each name once.
 */
export async function seedPictures(stack: Stack, suffix = ""): Promise<string> {
  await converse(stack, "Old CI runners", "Are both gone?");
  await converse(stack, "Invoice template", "Begin a draft.");
  await converse(stack, "Trip to Brno", "When does the train leave?");
  await converse(stack, "Sorting of rows", "Show me the code.");
  await converse(stack, "Installation", "This fails, see why.");
  await converse(stack, "Postgres upgrade", "How long does the dump take?");
  const id = await converse(stack, "Release 0.2", "Begin the notes of the release.");
  const rules = { on_unmatched: "ask", ask_seconds: 480 };
  await stack.api("POST", "/automations", {
    name: `changelog${suffix}`,
    prompt: "Write the changelog of what was merged.",
    session: `bound:${id}`,
    triggers: [{ kind: "webhook" }],
  });
  await stack.api("POST", "/automations", {
    name: `tidy${suffix}`,
    prompt: "Fix stale links and warnings, ask before a push.",
    session: `bound:${id}`,
    zone: ZONE,
    triggers: [{ kind: "cron", expression: `${distantMinute()} */2 * * *` }],
    policies: rules,
  });
  await stack.api("POST", `/automations/${encodeURIComponent(`changelog${suffix}`)}/fire`);
  await settled(stack, id);
  await stack.api("POST", `/sessions/${id}/messages`, { text: "Keep the entry for the sign-in fix short." });
  await settled(stack, id);
  await stack.api("POST", `/automations/${encodeURIComponent(`tidy${suffix}`)}/fire`);
  await settled(stack, id);
  await stack.api("POST", `/sessions/${id}/messages`, {
    text: "Then draft the release mail, at most 120 words.",
  });
  await stack.api("POST", `/automations/${encodeURIComponent(`changelog${suffix}`)}/fire`);
  return id;
}

/** Adds automations that have run, failed, been missed and been paused. Returns the ID of a failed run. */
export async function seedAutomations(stack: Stack): Promise<string> {
  const add = (name: string, prompt: string, expression: string, policies: object = {}) =>
    stack.api("POST", "/automations", {
      name,
      prompt,
      agent: "claude",
      session: "fresh",
      zone: ZONE,
      triggers: [{ kind: "cron", expression }],
      policies: { retry: { attempts: 1 }, ...policies },
    });
  const { daily, weekdays } = distantTime();
  const hourly = `${distantMinute()} * * * *`;
  await add("standup", "Say what is new in the changelog.", weekdays);
  await add("deploy-notes", "You are signed out.", hourly);
  await add("issue-triage", "Look at the new issues.", hourly, { quiet_hours: ["22:00-06:00"] });
  await add("backup-check", "Check the backup.", daily);
  await add("inbox-digest", "Sum up the inbox.", daily, { budget: { day: { turns: 1 } } });
  let failed = "";
  for (const name of [
    "standup",
    "issue-triage",
    "deploy-notes",
    "deploy-notes",
    "deploy-notes",
    "issue-triage",
    "inbox-digest",
  ]) {
    const run = await stack.api<Named & { session_id: string }>("POST", `/automations/${name}/fire`);
    await settled(stack, run.session_id);
    if (name === "deploy-notes") failed = run.id;
  }
  await stack.api("POST", "/automations/backup-check/pause");
  return failed;
}
