import type { Locator } from "@playwright/test";
import { expectNoBarrier } from "./barriers";
import { expect, test } from "./fixtures";
import { call, fireNew, seedAutomations } from "./stack";

test.use({ stackName: "phone", viewport: { width: 360, height: 740 }, colorScheme: "dark" });

let seeded: Promise<string> | undefined;
test.beforeEach(async ({ stack, page, signIn }) => {
  seeded ??= seedAutomations(stack);
  await seeded;
  await signIn(page);
});

const boxes = (elements: Locator) =>
  elements.evaluateAll((found) =>
    found.map((element) => element.getBoundingClientRect().toJSON() as DOMRect),
  );

test("words_of_the_bar_do_not_touch", async ({ page }) => {
  await page.goto("/");
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
  await page.goto("/");
  const actions = page.getByRole("region", { name: "Needs you" }).locator("li :is(button, a)");
  await expect(actions.first()).toBeVisible();
  for (const { height } of await boxes(actions)) expect(height).toBe(36);
});

test("timeline_shows_fewer_hours_and_explains_its_marks", async ({ page }) => {
  await page.goto("/");
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

test("opened_approval_has_wide_buttons_and_no_barrier", async ({ page, stack }) => {
  const { id } = await fireNew(stack, "release", "This asks to push.", {
    policies: { on_unmatched: "ask", ask_seconds: 480 },
  });
  const { items } = await stack.api<{ items: { id: string }[] }>("GET", `/approvals?run=${id}`);
  await page.goto(`/approvals/${items[0]?.id}`);
  const request = page.getByRole("region", { name: "Request" });
  const buttons = request.getByRole("button", { name: /^(Deny|Allow once|Always allow…)$/ });
  await expect(buttons).toHaveCount(3);
  await expect(buttons.first()).toHaveAttribute("aria-disabled", "false");
  const found = await boxes(buttons);
  for (const { height, right } of found) {
    expect(height).toBeGreaterThanOrEqual(44);
    expect(right).toBeLessThanOrEqual(344);
  }
  await expectNoBarrier(page, "approval");
});

test("long_proposed_answer_stays_on_the_screen", async ({ page, stack }) => {
  const long =
    "Take the second offer, because it includes the support of all four offices until the end of 2027";
  await fireNew(
    stack,
    "asking",
    call("ask_person", { question: "Which offer?", options: [long, "None"], default: "None" }),
  );
  await page.goto("/approvals");
  await page.getByRole("link", { name: /Which offer/ }).click();
  const question = page.getByRole("region", { name: "Question" });
  const answer = question.getByRole("button", { name: long });
  await expect(answer).toHaveAttribute("aria-disabled", "false");
  const [box] = await boxes(answer);
  expect(box?.right).toBeLessThanOrEqual(344);
  expect(box?.height).toBeGreaterThan(44);
  // It is open until tomorrow.
  await expect(question).toContainText(/Without an answer until \w+ \d\d:\d\d, “None” counts/);
  await expectNoBarrier(page, "question");
});

test("refusal_of_a_sign_in_shows_commands_as_code", async ({ page }) => {
  await page.context().clearCookies();
  await page.goto("/");
  await page.getByLabel("Link or code").fill("nonsense");
  await page.getByRole("button", { name: "Sign in" }).click();
  const field = page.getByRole("main");
  await expect(field.locator("span code").first()).toHaveText(/^matins /);
  await expect(field).not.toContainText("`");
});
