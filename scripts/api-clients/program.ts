// Uses the API by the client that openapi-typescript and openapi-fetch make of its document: `program URL TOKEN`.
import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

type Schemas = components["schemas"];

const NAME = "typescript-client";
const FIRES = 3;

const [url, token] = process.argv.slice(2);
const client = createClient<paths>({
  baseUrl: url,
  headers: { Authorization: `Bearer ${token}` },
});

/** Returns the body of a response, or throws its error, which has one schema for all statuses. */
function body<T>(answer: { data?: T; error?: Schemas["Problem"] }): T {
  if (answer.data === undefined) {
    throw new Error(`${answer.error?.kind}: ${answer.error?.detail}`);
  }
  return answer.data;
}

// 1. Create an automation.
const created: Schemas["AutomationView"] = body(
  await client.POST("/api/v1/automations", {
    body: {
      name: NAME,
      prompt: "What changed since yesterday?",
      agent: "demo",
      triggers: [{ kind: "cron", expression: "0 9 1 1 *", zone: "Europe/Prague" }],
    },
  }),
);
assert.equal(created.policies.overlap, null);
const zones = created.triggers.flatMap(({ spec }) => (spec.kind === "cron" ? [spec.zone] : []));
assert.deepEqual(zones, ["Europe/Prague"]);

// 2. Edit only `policies.overlap`.
const edited = body(
  await client.PATCH("/api/v1/automations/{automation}", {
    params: { path: { automation: created.id } },
    body: { policies: { overlap: "skip" } },
  }),
);
assert.deepEqual(edited.policies, { ...created.policies, overlap: "skip" });

// 3. Fire it.
const fired: Schemas["Run"][] = [];
for (let fire = 0; fire < FIRES; fire += 1) {
  const run = body(
    await client.POST("/api/v1/automations/{automation}/fire", {
      params: { path: { automation: NAME } },
    }),
  );
  fired.push(run);
}

// 4. Follow the trace of its session until the first run ends. The generator reads no event streams.
async function* events(session: string): AsyncGenerator<Schemas["TraceEvent"]> {
  const stream = await fetch(`${url}/api/v1/sessions/${session}/trace`, {
    headers: { Authorization: `Bearer ${token}` },
  });
  assert.ok(stream.ok && stream.body);
  let text = "";
  for await (const part of stream.body.pipeThrough(new TextDecoderStream())) {
    text += part;
    const frames = text.split("\n\n");
    text = frames.pop() ?? "";
    for (const frame of frames) {
      const data = frame.split("\n").filter((line) => line.startsWith("data: "));
      if (data.length > 0) {
        yield JSON.parse(data.map((line) => line.slice("data: ".length)).join("\n"));
      }
    }
  }
}

const [first] = fired;
assert.ok(first?.session_id);
const statuses: string[] = [];
let answer = "";
for await (const event of events(first.session_id)) {
  switch (event.kind) {
    case "run":
      statuses.push(event.change.status);
      break;
    case "message":
      if (event.role === "assistant") {
        answer = event.message?.content ?? "";
      }
      break;
    default:
      break;
  }
  if (event.kind === "run" && event.change.status === "succeeded") {
    break;
  }
}
assert.deepEqual(statuses, ["queued", "running", "succeeded"]);
assert.notEqual(answer, "");

// 5. Page through its runs, the newest first.
const ids: string[] = [];
let after: string | undefined;
do {
  const page: Schemas["RunItemPage"] = body(
    await client.GET("/api/v1/runs", {
      params: { query: { automation: NAME, limit: 1, after } },
    }),
  );
  ids.push(...page.items.map((run) => run.id));
  after = page.next ?? undefined;
} while (after !== undefined);
assert.deepEqual(ids.toReversed(), fired.map((run) => run.id));

// 6. An error has its own type.
const missing = await client.GET("/api/v1/automations/{automation}", {
  params: { path: { automation: "no-such-automation" } },
});
assert.equal(missing.error?.kind, "not-found");
