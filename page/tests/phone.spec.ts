import type { Locator } from "@playwright/test";
import { expect, test } from "./fixtures";
import { seedAutomations } from "./stack";

test.use({ stackName: "phone", viewport: { width: 360, height: 740 }, colorScheme: "dark" });

let seeded: Promise<string> | undefined;
test.beforeEach(async ({ stack, page }) => {
  seeded ??= seedAutomations(stack);
  await seeded;
  // A phone hides the rail, for which the fixture `signIn` waits.
  await page.goto(await stack.signInPath());
  await page.waitForURL((url) => url.pathname !== "/sign-in");
});

const boxes = (elements: Locator) =>
  elements.evaluateAll((found) =>
    found.map((element) => element.getBoundingClientRect().toJSON() as DOMRect),
  );

test("words_of_the_bar_do_not_touch", async ({ page }) => {
  const found = page.getByRole("navigation", { name: "Views" }).locator(":scope > * > span:last-of-type");
  await expect(found).toHaveCount(5);
  const words = await boxes(found);
  words.slice(1).forEach((word, index) => {
    expect(word.left - (words[index]?.right ?? 0)).toBeGreaterThanOrEqual(6);
    // They also stand on one line.
    expect(word.bottom).toBe(words[index]?.bottom);
  });
});

test("links_and_buttons_of_a_row_are_equally_high", async ({ page }) => {
  const actions = page.getByRole("region", { name: "Needs you" }).locator("li :is(button, a)");
  await expect(actions.first()).toBeVisible();
  for (const { height } of await boxes(actions)) expect(height).toBe(36);
});

test("timeline_shows_fewer_hours_and_explains_its_marks", async ({ page }) => {
  const timeline = page.getByRole("region", { name: "Timeline" });
  await expect(timeline.getByRole("heading")).toHaveText("10 hours back, 8 ahead");
  await expect(timeline.locator('[data-legend="failed"]')).toHaveText("3 failed");
});

test("each_run_of_the_list_has_its_time", async ({ page }) => {
  await page.goto("/runs");
  const row = page
    .getByRole("main")
    .getByRole("link", { name: /deploy-notes/ })
    .first();
  await expect(row.getByRole("time")).toBeVisible();
  await expect(row.getByText("failed", { exact: true })).toBeVisible();
});

test("states_of_sessions_stay_on_one_line", async ({ page }) => {
  await page.goto("/automations/issue-triage?tab=sessions");
  const states = page.getByText("active", { exact: true });
  await expect(states).not.toHaveCount(0);
  for (const { height } of await boxes(page.locator("li > small"))) expect(height).toBeLessThan(24);
});

test("button_of_a_callout_stands_below_its_text", async ({ page, stack }) => {
  // The day has no turn left for it.
  await stack.api("POST", "/automations/inbox-digest/fire");
  await page.goto("/automations/inbox-digest");
  const callout = page.getByRole("alert").filter({ hasText: "Paused: its budget is used up" });
  await expect(callout.getByRole("link")).toBeVisible();
  const [text] = await boxes(callout.locator(":scope > div"));
  const [button] = await boxes(callout.getByRole("link"));
  expect(button?.top).toBeGreaterThanOrEqual(text?.bottom ?? Number.NaN);
});
