/**
 * An agent for the tests of the page. It speaks ACP on its standard input and output, and the words of the prompt
 * choose what it does. A prompt that it does not know gets a short answer.
 */
import { spawn } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";

const pending = new Map();
let lastId = 0;
let cancel = () => undefined;
/** The MCP server with the tools of Matins. */
let toolServer;

const write = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);

function ask(method, params) {
  lastId += 1;
  const id = `agent-${lastId}`;
  write({ id, method, params });
  return new Promise((resolve) => pending.set(id, resolve));
}

const tick = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

class Turn {
  cancelled = false;

  constructor(session) {
    this.session = session;
    this.stopped = new Promise((resolve) => {
      cancel = () => {
        this.cancelled = true;
        resolve();
      };
    });
  }

  update(update) {
    write({ method: "session/update", params: { sessionId: this.session, update } });
  }

  say(text) {
    this.update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
  }

  think(text) {
    this.update({ sessionUpdate: "agent_thought_chunk", content: { type: "text", text } });
  }

  plan(...steps) {
    const entries = steps.map(([content, status]) => ({ content, status, priority: "medium" }));
    this.update({ sessionUpdate: "plan", entries });
  }

  tool(toolCallId, title, kind, rawInput) {
    this.update({ sessionUpdate: "tool_call", toolCallId, title, kind, status: "in_progress", rawInput });
  }

  done(toolCallId, more = {}) {
    this.update({ sessionUpdate: "tool_call_update", toolCallId, status: "completed", ...more });
  }

  usage(used, amount) {
    const cost = amount === undefined ? {} : { cost: { amount, currency: "USD" } };
    this.update({ sessionUpdate: "usage_update", used, size: 200_000, ...cost });
  }

  async permission(toolCallId, title, kind, rawInput) {
    const outcome = await ask("session/request_permission", {
      sessionId: this.session,
      toolCall: { toolCallId, title, kind, status: "pending", rawInput },
      options: [
        { optionId: "once", name: "Allow", kind: "allow_once" },
        { optionId: "no", name: "Reject", kind: "reject_once" },
      ],
    });
    return outcome?.outcome?.optionId === "once";
  }

  /** Writes a text in small pieces until it ends or the turn is cancelled. */
  async stream(text, milliseconds) {
    for (const piece of text.match(/\S+\s*/gu) ?? []) {
      if (this.cancelled) return;
      this.say(piece);
      await Promise.race([tick(milliseconds), this.stopped]);
    }
  }
}

/** Calls a tool of Matins, and returns the text of its answer. Throws if the tool refuses. */
async function callTool(name, args) {
  const env = Object.fromEntries(toolServer.env.map((each) => [each.name, each.value]));
  const server = spawn(toolServer.command, toolServer.args, {
    env: { ...process.env, ...env },
    stdio: ["pipe", "pipe", "ignore"],
  });
  const send = (message) => server.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  send({
    id: 1,
    method: "initialize",
    params: {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "page-test", version: "1" },
    },
  });
  for await (const line of createInterface({ input: server.stdout })) {
    const { id, result, error } = JSON.parse(line);
    if (id === 1 && error === undefined) {
      send({ method: "notifications/initialized" });
      send({ id: 2, method: "tools/call", params: { name, arguments: args } });
    } else if (id === 1 || id === 2) {
      server.stdin.end();
      const text = error?.message ?? result.content.map((block) => block.text).join("\n");
      if (error !== undefined || result.isError) throw new Error(text);
      return text;
    }
  }
  throw new Error("the server of the tools has ended");
}

const UPGRADE_BEFORE = `# Upgrade

Read this page before you install a new version.

## Which version do I have

\`matins --version\` prints it.

## What changes

The list of changes names every setting.

## Before you upgrade

Back up the data folder.

## After you upgrade

Start the server.
`;

const UPGRADE_AFTER = UPGRADE_BEFORE.replace(
  "Back up the data folder.\n",
  "Stop the server, then back up the data folder:\n`cp -a ~/notes ~/notes-0.1`.\n\nTwo settings were renamed. The server names them when it starts.\n",
);

const HOSTILE = `<img src=x onerror="document.title='pwned'"> <script>document.title = "pwned"</script>

[a script](javascript:document.title='pwned') and [a page](https://example.com/path?q=1) and
[data](data:text/html,hello)

[https://bank.example/?next=evil.example](https://evil.example/login)

![tracker](https://tracker.example/pixel.png)

<style>body { display: none }</style>

| left | right |
| ---- | ----: |
| 1    | 2     |

- [x] done
- [ ] open

\`\`\`html
<b onclick="steal()">bold</b>
\`\`\`
`;

const CODE = `The function keeps the order of rows with the same key:

\`\`\`rust
/// Sorts rows by their due instant.
fn by_due(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort_by_key(|row| (row.due, row.id)); // stable
    rows
}
\`\`\`

Run it with \`cargo test by_due\`. The three cases are:

1. **No row**: the result is empty.
2. **One row**: it is returned as it is.
3. **Equal instants**: the *older* row comes first.

> The clock may jump back, so never compare with the wall time.
`;

/** Answers of the day that the pictures show: words of the prompt, tokens, dollars if it reports them, and the text. */
const ANSWERS = [
  [
    "new issues",
    21_400,
    0.03,
    "Two issues are new, both about sign-in. I labelled them and asked for a log.",
  ],
  ["deploy notes", 9_800, 0.02, "Three changes went out. The notes are in docs/deploys.md."],
  ["what changed", 18_200, 0.04, "Since yesterday: 4 merged, 1 reverted, the flaky test is gone."],
  ["Sum up the inbox", 31_000, 0.22, "Eleven messages, two need an answer today: the invoice and the venue."],
  [
    "Check the backup",
    6_100,
    undefined,
    "The backup of 23:02 is complete: 41 GB, restored into a scratch folder.",
  ],
  ["dump take", 12_700, 0.02, "About nine minutes for 38 GB, with four jobs. Stop the writers first."],
  ["train leave", 5_300, 0.01, "At 07:49 from platform 3, and at 09:49. Both are direct."],
  ["invoice", 7_900, 0.01, "The draft is in invoices/2026-11.md. The hourly rate is the one of October."],
];

/** `true` if the test has put a file of this name into the home folder. */
const isFlagged = (name) => existsSync(`${process.env.HOME}/${name}`);

async function play(turn, prompt) {
  // Lines such as: call remember {"key":"build","value":"red"}
  const calls = [...prompt.matchAll(/^call (\w+) (\{.*\})$/gm)];
  for (const [index, [, name, args]] of calls.entries()) {
    turn.tool(`call-${index}`, name, "other", JSON.parse(args));
    turn.done(`call-${index}`, { rawOutput: await callTool(name, JSON.parse(args)) });
  }
  if (calls.length > 0 && prompt.includes("then fail")) throw { code: -32_603, message: "The build is red" };
  if (calls.length > 0) return turn.say("It is kept.");
  if (prompt.includes("deploy notes") && isFlagged("signed-out"))
    throw { code: -32_000, message: "Authentication required" };
  if (isFlagged("offline")) throw { code: -32_603, message: "The network is unreachable" };
  const known = ANSWERS.find(([words]) => prompt.includes(words));
  if (known !== undefined) {
    turn.usage(known[1], known[2]);
    return turn.say(known[3]);
  }
  if (prompt.includes("stale links") && isFlagged("routine")) {
    turn.usage(26_500, 0.05);
    return turn.say("All links work and the build has no warning.");
  }
  if (prompt.includes("stale links")) {
    turn.plan(
      ["Check the links", "in_progress"],
      ["Fix the upgrade page", "pending"],
      ["Run the tests", "pending"],
      ["Push the branch", "pending"],
    );
    turn.think(
      "The upgrade page links to two pages that were renamed. I fix those first, then run the tests.",
    );
    for (const [index, path] of ["docs/upgrade.md", "docs/guide.md", "CHANGELOG.md"].entries()) {
      turn.tool(`read-${index}`, `Read ${path}`, "read", { path });
      turn.done(`read-${index}`, { rawOutput: { lines: 40 + index } });
    }
    turn.tool("grep", "Search for docs/old-guide", "search", { pattern: "docs/old-guide" });
    turn.done("grep", { rawOutput: { matches: 2 } });
    turn.tool("force", "git push --force origin main", "execute", {
      command: "git push --force origin main",
    });
    if (
      !(await turn.permission("force", "git push --force origin main", "execute", {
        command: "git push --force origin main",
      }))
    )
      turn.update({ sessionUpdate: "tool_call_update", toolCallId: "force", status: "failed" });
    turn.tool("edit", "Edit docs/upgrade.md", "edit");
    turn.done("edit", {
      content: [{ type: "diff", path: "docs/upgrade.md", oldText: UPGRADE_BEFORE, newText: UPGRADE_AFTER }],
    });
    turn.tool("tests", "cargo test", "execute", { command: "cargo test" });
    turn.done("tests", { rawOutput: { exit_code: 0, stdout: "412 passed in 48 s" } });
    turn.plan(
      ["Check the links", "completed"],
      ["Fix the upgrade page", "completed"],
      ["Run the tests", "completed"],
      ["Push the branch", "in_progress"],
    );
    turn.usage(82_000, 0.09);
    await turn.stream(
      "Two links in the upgrade page were stale and both are fixed. All 412 tests pass, in 48 seconds. `main` has not moved since yesterday, so the branch can go out as it is.",
      5,
    );
    const allowed = await turn.permission("push", "Push the branch so that CI can start", "execute", {
      command: "git push origin main",
      cwd: "~/project",
    });
    await turn.stream(allowed ? "The branch is out." : "I did not push the branch.", 5);
    return;
  }
  const steps = /in (\d+) steps/.exec(prompt);
  if (steps !== null) {
    for (let step = 1; step <= Number(steps[1]); step += 1) {
      turn.say(`Step ${step} begins.\n\n`);
      turn.tool(`step-${step}`, `Read part ${step}`, "read", { path: `part-${step}.md` });
      turn.done(`step-${step}`, { rawOutput: { lines: step } });
    }
    return turn.say("All steps are done.");
  }
  const pace = /words (\d+) ms apart/.exec(prompt);
  if (pace !== null)
    return turn.stream(
      "Version 0.2 is **out**, with `two` settings renamed. ".repeat(2_000),
      Number(pace[1]),
    );
  if (prompt.includes("release mail") || prompt.includes("slowly")) {
    turn.usage(14_000);
    turn.think("The mail has at most 120 words.");
    await turn.stream(
      "Version 0.2 is out. It mends the sign-in, and two settings have new names. ".repeat(800),
      5,
    );
    return;
  }
  if (prompt.includes("signed out")) throw { code: -32_000, message: "Authentication required" };
  if (prompt.includes("first time")) {
    if (!existsSync("tried")) {
      writeFileSync("tried", "");
      throw { code: -32_603, message: "The build server did not answer" };
    }
    return turn.say("The build is green again.");
  }
  if (prompt.includes("asks to push")) {
    const allowed = await turn.permission("push", "Push the branch", "execute", {
      command: "git push origin main",
    });
    return turn.say(allowed ? "The branch is out." : "I did not push the branch.");
  }
  if (prompt.includes("asks by a form")) {
    const reply = await ask("elicitation/create", {
      sessionId: turn.session,
      mode: "form",
      message: "Which server?",
      requestedSchema: {
        type: "object",
        properties: { server: { type: "string", title: "Server", default: "green" } },
      },
    });
    return turn.say(reply?.action === "accept" ? `I take ${reply.content.server}.` : "I take none.");
  }
  if (prompt.includes("writes much")) {
    const content = `${"0123456789abcdef".repeat(1_500)} END`;
    const allowed = await turn.permission("write", "Write notes.txt", "edit", { path: "notes.txt", content });
    return turn.say(allowed ? "The notes are written." : "I wrote nothing.");
  }
  if (prompt.includes("hostile")) return turn.say(HOSTILE);
  if (prompt.includes("code")) return turn.say(CODE);
  if (prompt.includes("fails")) {
    turn.tool("npm", "npm ci", "execute", { command: "npm ci" });
    turn.update({
      sessionUpdate: "tool_call_update",
      toolCallId: "npm",
      status: "failed",
      rawOutput: { exit_code: 1, stderr: "npm error code EUSAGE\nnpm error The lock file is missing." },
    });
    turn.say("The installation failed, because the lock file is missing.");
    return;
  }
  if (prompt.includes("changelog")) {
    turn.usage(9_100, 0.01);
    return turn.say("Added 2 entries under “Fixed”.");
  }
  turn.usage(11_000, 0.01);
  turn.say("Done: one line, under “Fixed”.");
}

const handlers = {
  initialize: () => ({
    protocolVersion: 1,
    agentInfo: { name: "page-test", version: "1" },
    agentCapabilities: { loadSession: true },
    authMethods: [],
  }),
  "session/new": ({ mcpServers }) => {
    toolServer = mcpServers.find((server) => server.name === "matins");
    return { sessionId: `page-test-${process.pid}-${Date.now()}` };
  },
  "session/load": ({ mcpServers }) => {
    toolServer = mcpServers.find((server) => server.name === "matins");
    return {};
  },
  "session/prompt": async ({ sessionId, prompt }) => {
    const turn = new Turn(sessionId);
    await play(turn, prompt.map((block) => block.text ?? "").join("\n"));
    return { stopReason: turn.cancelled ? "cancelled" : "end_turn" };
  },
};

createInterface({ input: process.stdin }).on("line", async (line) => {
  const { id, method, params, result } = JSON.parse(line);
  if (method === "session/cancel") {
    cancel();
    for (const [key, resolve] of pending) {
      pending.delete(key);
      resolve({ outcome: { outcome: "cancelled" } });
    }
  } else if (method !== undefined && id !== undefined) {
    const handler = handlers[method];
    if (handler === undefined) write({ id, error: { code: -32_601, message: method } });
    else {
      try {
        write({ id, result: await handler(params) });
      } catch (error) {
        write({ id, error });
      }
    }
  } else if (id !== undefined) {
    pending.get(id)?.(result);
    pending.delete(id);
  }
});
