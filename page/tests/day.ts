/**
 * A day of a laptop for the pictures: a real server lives through it on a clock that leaps from one due instant to the
 * next (libfaketime; Debian: faketime). Nothing is written into its database but by the server.
 */
import { existsSync, readdirSync } from "node:fs";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { converse, type Stack, startStack } from "./stack";

/** The instant of the pictures, in Prague 08:12 on a Thursday. */
export const NOW = "2026-11-19T07:12:05Z";

/** The last look of the browser before. */
export const LOOKED = "2026-11-18T21:41:00Z";

export interface Day {
  stack: Stack;
  /** The conversation in which the agent asks for a permission. */
  session: string;
  /** A failed run. */
  failed: string;
  stop(): Promise<void>;
}

function findLibrary(): string {
  const found = readdirSync("/usr/lib")
    .map((folder) => `/usr/lib/${folder}/faketime/libfaketime.so.1`)
    .find((path) => existsSync(path));
  if (found === undefined) throw new Error("libfaketime is missing: install it (Debian: faketime)");
  return found;
}

interface Automations {
  items: { triggers: { next_fire_at: string | null }[] }[];
}

interface Overview {
  counts: { running: number; queued: number };
  needs: { approvals: object[] };
}

/** An instant in Prague. */
const at = (day: number, time: string) => Date.parse(`2026-11-${day}T${time}:00+01:00`);

const LAST = at(19, "08:00");

export async function liveThroughDay(): Promise<Day> {
  const folder = await mkdtemp(join(tmpdir(), "matins-page-clock-"));
  const clock = join(folder, "clock");
  const leap = async (instant: number) => {
    await writeFile(`${clock}.new`, `${((instant - Date.now()) / 1000).toFixed(3)}`);
    await rename(`${clock}.new`, clock);
  };
  await leap(at(18, "07:55"));
  const stack = await startStack("day", "sqlite", {
    LD_PRELOAD: findLibrary(),
    FAKETIME_TIMESTAMP_FILE: clock,
    FAKETIME_NO_CACHE: "1",
    // Timeouts and pauses last as long as they really do.
    DONT_FAKE_MONOTONIC: "1",
    FAKETIME_DONT_FAKE_MONOTONIC: "1",
  });
  const flag = (name: string) => writeFile(join(stack.home, name), "");
  const unflag = (name: string) => rm(join(stack.home, name), { force: true });
  await flag("routine");

  // 1. The automations.
  const session = await converse(stack, "Release 0.2", "What changed since the last release?");
  const add = (name: string, prompt: string, expression: string | null, more: object = {}) =>
    stack.api("POST", "/automations", {
      name,
      prompt,
      agent: "claude",
      session: "fresh",
      zone: "Europe/Prague",
      triggers: [expression === null ? { kind: "webhook" } : { kind: "cron", expression }],
      policies: { retry: { attempts: 1 } },
      ...more,
    });
  await add("tidy", "Fix stale links and warnings, ask before a push.", "0 6-22/2 * * *", {
    agent: undefined,
    session: `bound:${session}`,
    policies: { retry: { attempts: 1 }, on_unmatched: "ask", ask_seconds: 1_080 },
  });
  await add("deploy-notes", "Write the deploy notes of the last hour.", "40 * * * *", {
    policies: { catch_up: "all", retry: { attempts: 1 } },
  });
  await add("nightly-audit", "Check the backup and the open ports.", "30 2 * * *", {
    policies: { catch_up: "none" },
  });
  await add("issue-triage", "Look at the new issues.", "*/30 * * * *", {
    policies: { quiet_hours: ["22:00-06:00"], retry: { attempts: 1 } },
  });
  await add("standup", "Say what changed since the last time.", "0 9 * * 1-5", { session: "continuous" });
  await add("backup-check", "Check the backup.", "15 23 * * *");
  await add("inbox-digest", "Sum up the inbox.", "0 7,8 * * *", {
    policies: { budget: { day: { cost: { amount: "0.25", currency: "USD" } } } },
  });
  await add("changelog", "Write the changelog of what was merged.", null, {
    agent: undefined,
    session: `bound:${session}`,
  });
  await stack.command("tenant", "edit", "default", "--budget", "10 USD/day", "--budget", "60 USD/month");

  await stack.api("PUT", `/sessions/${session}/memory/release.rule`, {
    value: "Tag only after CI is green on main.",
  });
  await stack.api("PUT", "/automations/issue-triage/memory/labels", {
    value: "Sign-in issues get the label auth, and go to Jana.",
  });
  await stack.api("PUT", "/automations/issue-triage/memory/duplicates", {
    value: "The reports of a blank page since version 0.1.4 are one issue.",
    confidence: 0.7,
    expires_at: "2026-12-18T11:00:00Z",
  });

  // 2. The instants of the day, each with the acts of people.
  const acts = new Map<number, () => Promise<unknown>>([
    [at(18, "10:20"), () => converse(stack, "Trip to Brno", "When does the train leave?")],
    [at(18, "13:05"), () => converse(stack, "Postgres upgrade", "How long does the dump take?")],
    [at(18, "15:59"), () => flag("offline")],
    [at(18, "16:05"), () => unflag("offline")],
    [at(18, "16:15"), () => stack.api("POST", "/automations/changelog/fire")],
    [at(18, "19:25"), () => converse(stack, "Invoice template", "Begin a draft of the invoice.")],
    [at(18, "22:41"), () => converse(stack, "Sorting of rows", "Show me the code.")],
    [at(19, "01:48"), () => stack.killServer()],
    [at(19, "05:31"), () => stack.startServer()],
    [at(19, "05:35"), () => flag("signed-out")],
    [at(19, "07:51"), () => stack.api("POST", "/automations/changelog/fire")],
    [at(19, "07:59"), () => unflag("routine")],
  ]);
  const instants = new Set(acts.keys());
  for (let hour = at(18, "08:00"); hour <= LAST; hour += 3_600_000) {
    for (const minute of [0, 30, 40]) instants.add(hour + minute * 60_000);
  }
  instants.add(at(18, "23:15"));
  const isOff = (instant: number) => instant > at(19, "01:48") && instant < at(19, "05:31");
  const ordered = [...instants].sort((a, b) => a - b);
  for (const instant of ordered.filter((each) => !isOff(each) && each <= LAST)) {
    await leap(instant - 200);
    await acts.get(instant)?.();
    if (instant !== at(19, "01:48")) await rest(stack, instant);
  }

  // 3. The present: two inputs wait behind the permission.
  await leap(Date.parse(NOW));
  await stack.api("POST", `/sessions/${session}/messages`, {
    text: "Then draft the release mail, at most 120 words.",
  });
  await stack.api("POST", "/automations/changelog/fire");
  const { items } = await stack.api<{ items: { id: string }[] }>("GET", "/runs?status=failed");
  return {
    stack,
    session,
    failed: items[0]?.id ?? "",
    stop: async () => {
      await stack.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Returns when all that is due until the instant has fired, and has ended or waits for a person. */
async function rest(stack: Stack, instant: number): Promise<void> {
  for (;;) {
    const { items } = await stack.api<Automations>("GET", "/automations");
    const { counts, needs } = await stack.api<Overview>("GET", "/overview");
    const isFired = items
      .flatMap((automation) => automation.triggers)
      .every((trigger) => trigger.next_fire_at === null || Date.parse(trigger.next_fire_at) > instant);
    const open = counts.running + counts.queued;
    // In the end, one run waits for a person, and one for its budget.
    const waiting = instant < LAST ? 0 : 1;
    if (isFired && needs.approvals.length === waiting && open <= 2 * waiting) return;
    await new Promise((done) => setTimeout(done, 100));
  }
}
