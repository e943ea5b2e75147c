import { expect, test } from "./fixtures";
import { converse, distantTime, type Stack, settled, ZONE } from "./stack";

interface Named {
  id: string;
  session_id: string | null;
}

const due = distantTime();

/** Makes an automation whose schedule fires once a day, but not now, and whose failures are not retried. */
async function automation(stack: Stack, name: string, prompt: string, more: object = {}): Promise<void> {
  await stack.api("POST", "/automations", {
    name,
    prompt,
    agent: "claude",
    session: "fresh",
    zone: ZONE,
    triggers: [{ kind: "cron", expression: due.daily }],
    ...more,
    policies: { retry: { attempts: 1 }, ...(more as { policies?: object }).policies },
  });
}

async function fire(stack: Stack, name: string): Promise<Named> {
  const run = await stack.api<Named>("POST", `/automations/${name}/fire`);
  if (run.session_id !== null) await settled(stack, run.session_id);
  return run;
}

let filled: Promise<void> | undefined;
/** Fills the server once: two runs succeed, two fail, one waits for a person, and four are due. */
function fillOnce(stack: Stack): Promise<void> {
  filled ??= fill(stack);
  return filled;
}

async function fill(stack: Stack): Promise<void> {
  await converse(stack, "Invoice template", "Begin a draft.");
  await automation(stack, "standup", "Say what is new in the changelog.");
  await automation(stack, "deploy", "You are signed out.");
  await automation(stack, "digest", "Sum up.");
  await automation(stack, "tidy", "Please: asks to push.", {
    policies: {
      on_unmatched: "ask",
      ask_seconds: 480,
      budget: { day: { cost: { amount: "5", currency: "USD" } } },
    },
  });
  await fire(stack, "standup");
  await fire(stack, "deploy");
  await fire(stack, "deploy");
  await fire(stack, "tidy");
}

test.use({ stackName: "overview" });

test("overview_of_new_server_shows_three_steps", async ({ page, signIn }) => {
  await signIn(page);
  await page.goto("/");
  const steps = page.getByRole("region", { name: "First steps" });
  await expect(steps.getByRole("listitem")).toHaveCount(3);
  await expect(steps.getByText("matins agent check claude")).toBeVisible();
  await steps.getByRole("link", { name: "New conversation" }).click();
  await expect(page).toHaveURL(/\/conversations\?new=1/);
});

test("overview_answers_five_questions_without_a_click", async ({ page, stack, signIn }) => {
  await fillOnce(stack);
  await signIn(page);
  await page.goto("/");

  // What ran?
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(/^\d+ runs since /);
  await expect(page.getByRole("main")).toContainText("2 succeeded");
  await expect(page.getByRole("main")).toContainText("2 failed");
  const timeline = page.getByRole("region", { name: "Timeline" });
  await expect(timeline.getByRole("link", { name: "deploy" })).toBeVisible();
  await expect(timeline.locator('[data-look="failed"]')).not.toHaveCount(0);
  // The legend, the marks and the headline have the same numbers.
  const legend = timeline.getByRole("list", { name: "Marks of the timeline" });
  for (const [look, text] of [
    ["succeeded", "2 succeeded"],
    ["failed", "2 failed"],
    ["waits", "1 waits for you"],
  ]) {
    await expect(legend.locator(`[data-legend="${look}"]`)).toHaveText(text ?? "");
    const counts = await timeline
      .locator(`svg [data-look="${look}"]`)
      .evaluateAll((marks) => marks.map((mark) => Number(mark.getAttribute("data-count"))));
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(Number.parseInt(text ?? "", 10));
  }
  // Numbers of the present stand apart from those of the period.
  await expect(page.getByRole("list", { name: "Now" })).toHaveText("Now:1 waits for you");
  // What failed, and why?
  const needs = page.getByRole("region", { name: "Needs you" });
  const deploy = needs.getByRole("listitem").filter({ hasText: "deploy" });
  await expect(deploy).toContainText(/failed 2 times, .*Authentication required/);
  await expect(deploy.getByRole("button", { name: "Retry" })).toBeEnabled();
  // What waits?
  const waits = needs.getByRole("listitem").first();
  await expect(waits).toContainText("tidy asks: git push origin main");
  await expect(waits).toContainText("left");
  await expect(page).toHaveTitle(/^\(1\) /);
  // What comes next?
  const next = page.getByRole("region", { name: "Next runs" }).getByRole("listitem");
  await expect(next).toHaveCount(4);
  await expect(next.first()).toContainText(due.time);
  // What did it cost?
  const cost = page.getByRole("region", { name: "Cost and usage" });
  await expect(cost).toContainText("$0.02");
  await expect(cost).toContainText("2 of 4 runs reported a cost");
  await expect(cost).toContainText("in UTC; 2 runs not reported");
  // All of it is on the first screen.
  const bottom = () => cost.evaluate((element) => element.getBoundingClientRect().bottom);
  await expect.poll(bottom).toBeLessThanOrEqual(800);

  // The plot has keys of its own.
  await page.getByRole("application").focus();
  await page.keyboard.press("ArrowRight");
  await expect(timeline.getByRole("status")).toContainText("failed");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/runs\/run_/);
});

test("overview_loads_with_eight_requests", async ({ page, stack, signIn }) => {
  await fillOnce(stack);
  await signIn(page);
  await page.goto("/");
  await expect(page.getByText("Live", { exact: true })).toBeVisible();
  const addresses = new Set<string>();
  page.on("request", (request) => addresses.add(request.url()));
  await page.reload();
  await expect(page.getByRole("region", { name: "Timeline" })).toBeVisible();
  await expect(page.getByRole("region", { name: "Cost and usage" })).toBeVisible();
  await expect(page.getByText("Live", { exact: true })).toBeVisible();
  // The worker of all tabs reads the feed, which is the eighth.
  expect([...addresses].sort()).toHaveLength(7);
  for (const address of addresses) expect(address.startsWith(stack.url)).toBe(true);
});

test("overview_follows_what_happens", async ({ page, stack, signIn }) => {
  await fillOnce(stack);
  await signIn(page);
  await page.goto("/");
  const needs = page.getByRole("region", { name: "Needs you" });
  const waits = needs.getByRole("listitem").filter({ hasText: "tidy asks" });
  await expect(waits).toHaveCount(1);
  const { items } = await stack.api<{ items: Named[] }>("GET", "/approvals");
  await stack.api("POST", `/approvals/${items[0]?.id}/deny`);
  await expect(waits).toHaveCount(0);
  await stack.api("POST", "/automations/digest/pause");
  const next = page.getByRole("region", { name: "Next runs" }).getByRole("listitem");
  await expect(next.filter({ hasText: "digest" })).toHaveCount(0);
});

test("lanes_beyond_the_room_share_a_row_until_all_are_wanted", async ({ page, stack, signIn }) => {
  await fillOnce(stack);
  // It has a lane unless an earlier test has paused it.
  await stack.api("DELETE", "/automations/digest");
  for (const name of ["audit", "backup"]) await automation(stack, name, "Check the backup.");
  await page.setViewportSize({ width: 1280, height: 700 });
  await signIn(page);
  await page.goto("/");
  const timeline = page.getByRole("region", { name: "Timeline" });
  await expect(timeline.getByTitle("backup, Conversations")).toBeVisible();
  await expect(timeline.getByRole("link")).toHaveCount(4);
  const toggle = timeline.getByRole("button", { name: "All 6 lanes" });
  await toggle.focus();
  await page.keyboard.press("Enter");
  await expect(timeline.getByRole("link")).toHaveCount(6);
  // The same button goes back, and keeps the focus.
  await expect(timeline.getByRole("button", { name: "Fewer lanes" })).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(timeline.getByRole("link")).toHaveCount(4);
});

test("overview_of_viewer_offers_no_action", async ({ page, stack, signIn }) => {
  await fillOnce(stack);
  await signIn(page, "viewer");
  await page.goto("/");
  const deploy = page
    .getByRole("region", { name: "Needs you" })
    .getByRole("listitem")
    .filter({ hasText: "deploy" });
  const retry = deploy.getByRole("button", { name: "Retry" });
  await expect(retry).toBeDisabled();
  await expect(retry).toHaveAttribute("title", /runs:write/);
});
