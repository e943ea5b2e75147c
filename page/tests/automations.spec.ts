import { expect, holdBack, test } from "./fixtures";
import { distantTime, type Stack, settled, ZONE } from "./stack";

interface Run {
  id: string;
  session_id: string;
}

const due = distantTime();

async function automation(stack: Stack, name: string, more: object = {}): Promise<{ id: string }> {
  return stack.api("POST", "/automations", {
    name,
    prompt: "Say what is new in the changelog.",
    agent: "claude",
    session: "continuous",
    zone: ZONE,
    triggers: [{ kind: "cron", expression: due.weekdays }],
    ...more,
  });
}

async function run(stack: Stack, name: string): Promise<void> {
  const { session_id: session } = await stack.api<Run>("POST", `/automations/${name}/fire`);
  await settled(stack, session);
}

test.use({ stackName: "automations" });

test("empty_list_offers_a_new_automation_and_the_editor_adds_one", async ({ page, stack, signIn }) => {
  await signIn(page);
  await page.goto("/automations");
  await expect(page.getByText(/^No automation yet/)).toBeVisible();
  await page.getByRole("button", { name: "New automation" }).click();
  await page.getByLabel("Name").fill("standup");
  await page.getByRole("combobox", { name: "Agent" }).selectOption("claude");
  await page.getByLabel("Ask").fill("Say what is new in the changelog.");
  await page.getByRole("radio", { name: /One session that remembers/ }).check();
  await page.getByRole("combobox", { name: "When", exact: true }).selectOption("day");
  await page.getByLabel("Time", { exact: true }).fill("02:30");
  await page.getByLabel("Time zone").selectOption("Europe/Prague");
  // The preview is the server's.
  const next = page.getByRole("region", { name: "Next runs" }).getByRole("listitem");
  await expect(next).toHaveCount(5);
  await expect(next.first()).toContainText(/02:30:00 \+0[12]:00$/);
  // Clocks change twice a year there, and the server says which change concerns this time.
  await expect(page.getByText(/has (no 02:30|02:30 twice), because clocks go/)).toBeVisible();
  // It must not fire meanwhile.
  await page.getByLabel("Time", { exact: true }).fill(due.time);
  await expect(next.first()).toContainText(new RegExp(`${due.time}:00 \\+0[12]:00$`));
  const prompt = page.getByRole("region", { name: "What the agent will read" });
  await expect(prompt).toContainText("Say what is new in the changelog.");
  await expect(prompt).toContainText("everything else is denied");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await expect(page.getByRole("heading", { level: 1, name: "standup" })).toBeVisible();
  const made = await stack.api<{ session_mode: string; triggers: { spec: { expression?: string } }[] }>(
    "GET",
    "/automations/standup",
  );
  expect(made.session_mode).toBe("continuous");
  expect(made.triggers.map((trigger) => trigger.spec.expression)).toContain(due.daily);
});

test("preview_of_weekdays_marks_the_clock_change_that_they_meet", async ({ page, signIn }) => {
  await signIn(page);
  await page.goto("/automations/new");
  const schedule = page.getByRole("region", { name: "Next runs" });
  await page.getByRole("combobox", { name: "When", exact: true }).selectOption("weekday");
  await page.getByLabel("Time", { exact: true }).fill("00:30");
  // Clocks change on Sundays there, so weekdays never meet a change.
  await page.getByLabel("Time zone").selectOption("Europe/Prague");
  await expect(schedule.getByRole("listitem").first()).toContainText(/00:30:00 \+0[12]:00$/);
  await expect(schedule).not.toContainText("clocks");
  // They change on a Friday at midnight there.
  await page.getByLabel("Time zone").selectOption("Africa/Cairo");
  await expect(schedule.getByRole("listitem").first()).toContainText(/00:30:00 \+0[23]:00/);
  await expect(schedule).toContainText(/has (no 00:30|00:30 twice), because clocks go/);
  await page.getByRole("button", { name: "Discard" }).click();
});

test("refused_field_is_named_and_nothing_is_lost", async ({ page, stack, signIn }) => {
  await automation(stack, "taken");
  await signIn(page);
  await page.goto("/automations/new");
  await page.getByLabel("Name").fill("taken");
  await page.getByLabel("Ask").fill("Anything.");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await expect(page.getByRole("alert")).toContainText("agent");
  await expect(page.getByRole("combobox", { name: "Agent" })).toBeFocused();
  await page.getByRole("combobox", { name: "Agent" }).selectOption("claude");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await expect(page.getByRole("alert")).toContainText("taken");
  await page.getByRole("combobox", { name: "When", exact: true }).selectOption("cron");
  await page.getByLabel("Cron expression").fill("every day");
  await expect(page.getByRole("region", { name: "Next runs" }).getByRole("alert")).toContainText("every day");
  // The draft outlives the tab.
  await page.reload();
  await expect(page.getByLabel("Ask")).toHaveValue("Anything.");
  await page.getByRole("button", { name: "Discard" }).click();
  await expect(page.getByLabel("Ask")).toHaveValue("");
});

test("edit_conflict_shows_both_versions", async ({ page, stack, signIn }) => {
  await automation(stack, "audit");
  await signIn(page);
  await page.goto("/automations/audit/edit");
  await page.getByLabel("Ask").fill("Mine.");
  await expect(page.getByText("1 change")).toBeVisible();
  await expect(page.getByText("was: Say what is new in the changelog.")).toBeVisible();
  await stack.api("PATCH", "/automations/audit", { prompt: "Theirs.", cwd: "/tmp" });
  await page.getByRole("button", { name: "Save" }).click();
  const conflict = page.getByRole("alert", { name: "Changed by another person" });
  await expect(conflict.getByRole("row", { name: /^Ask/ })).toContainText("Theirs.");
  await expect(conflict.getByRole("row", { name: /^Ask/ })).toContainText("Mine.");
  await conflict
    .getByRole("row", { name: /^Directory/ })
    .getByRole("button")
    .click();
  await conflict.getByRole("button", { name: "Go on with this form" }).click();
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "audit" })).toBeVisible();
  const { prompt, cwd } = await stack.api<{ prompt: string; cwd: string }>("GET", "/automations/audit");
  expect([prompt, cwd]).toEqual(["Mine.", "/tmp"]);
});

test("leaving_with_changes_asks_and_keeps_or_discards_the_draft", async ({ page, stack, signIn }) => {
  await automation(stack, "essay");
  await signIn(page);
  await page.goto("/automations/essay");
  await page.getByRole("button", { name: "Edit" }).click();
  const ask = page.getByLabel("Ask");
  await ask.click();
  await ask.fill("Half a thought");
  const dialog = page.getByRole("dialog", { name: "Leave without saving?" });
  const rail = page.getByRole("navigation", { name: "Main" });

  // A link asks. Escape stays, with the changes.
  await rail.getByRole("link", { name: "Runs" }).click();
  await expect(dialog).toContainText("1 change of essay is not saved.");
  await page.keyboard.press("Escape");
  await expect(dialog).toHaveCount(0);
  await expect(page).toHaveURL(/\/automations\/essay\/edit$/);
  await expect(ask).toHaveValue("Half a thought");

  // Keys ask, too. The draft is there again afterwards.
  await page.getByRole("heading", { level: 1 }).click();
  await page.keyboard.press("g");
  await page.keyboard.press("r");
  await dialog.getByRole("button", { name: "Leave and keep the draft" }).click();
  await expect(page).toHaveURL(/\/runs$/);
  await page.goto("/automations/essay");
  await page.getByRole("button", { name: "Edit" }).click();
  await expect(ask).toHaveValue("Half a thought");
  await expect(page.getByText("This is your draft.")).toBeVisible();

  // Back asks, and goes back when the draft is discarded.
  await ask.click();
  await page.evaluate(() => history.back());
  await dialog.getByRole("button", { name: "Discard" }).click();
  await expect(page).toHaveURL(/\/automations\/essay$/);
  await page.getByRole("button", { name: "Edit" }).click();
  await expect(ask).not.toHaveValue("Half a thought");

  // Nothing has changed, so nothing asks.
  await rail.getByRole("link", { name: "Runs" }).click();
  await expect(page).toHaveURL(/\/runs$/);
  await page.goto("/automations/new");
  await expect(page.getByRole("combobox", { name: "Agent" }).getByRole("option")).not.toHaveCount(1);
  await rail.getByRole("link", { name: "Runs" }).click();
  await expect(page).toHaveURL(/\/runs$/);
});

test("closing_the_tab_with_changes_asks", async ({ page, stack, signIn }) => {
  await automation(stack, "letter");
  await signIn(page);
  await page.goto("/automations/letter/edit");
  const asked: string[] = [];
  page.on("dialog", async (dialog) => {
    asked.push(dialog.type());
    await dialog.dismiss();
  });
  await page.getByLabel("Ask").click();
  await page.keyboard.type("More. ");
  await page.close({ runBeforeUnload: true });
  await expect.poll(() => asked).toEqual(["beforeunload"]);
  await page.getByRole("button", { name: "Discard" }).click();
  await page.close({ runBeforeUnload: true });
  await expect.poll(() => page.isClosed()).toBe(true);
  expect(asked).toEqual(["beforeunload"]);
});

test("paused_automation_runs_on_demand_and_is_resumed_by_undo", async ({ page, stack, signIn }) => {
  await automation(stack, "news");
  await signIn(page);
  await page.goto("/automations/news");
  await page.getByRole("button", { name: "Pause" }).click();
  const paused = page.getByText("Paused: paused by a person");
  await expect(paused).toBeVisible();
  await page.getByRole("status").getByRole("button", { name: "Undo" }).click();
  await expect(paused).toBeHidden();
  await page.getByRole("button", { name: "Pause" }).click();
  await expect(paused).toBeVisible();
  await page.getByRole("button", { name: "Run now" }).click();
  const history = page.getByRole("tabpanel").getByRole("listitem");
  await expect(history.filter({ hasText: "succeeded" })).toHaveCount(1);
  await expect(history.filter({ hasText: "Added 2 entries" })).toHaveCount(1);
  await page.getByRole("button", { name: "Resume" }).click();
  await expect(page.getByRole("button", { name: "Pause" })).toBeVisible();
});

test("reset_begins_a_new_conversation_and_keeps_the_old_one", async ({ page, stack, signIn }) => {
  await automation(stack, "diary");
  await run(stack, "diary");
  await signIn(page);
  await page.goto("/automations/diary");
  await page.getByRole("button", { name: "More actions" }).click();
  await page.getByRole("menuitem", { name: "Reset…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Reset" }).click();
  // The dialog says something alike before the reset.
  await expect(page.getByText("diary: the next run begins a new conversation")).toBeVisible();
  await run(stack, "diary");
  await page.getByRole("tab", { name: "Sessions" }).click();
  await expect(page.getByRole("tabpanel").getByRole("listitem")).toHaveCount(2);
});

test("deleting_keeps_or_deletes_the_sessions", async ({ page, stack, signIn }) => {
  await automation(stack, "keep");
  await run(stack, "keep");
  await automation(stack, "drop", { session: "fresh" });
  for (let turn = 0; turn < 2; turn += 1) await run(stack, "drop");
  await signIn(page);
  const before = (await stack.api<{ items: object[] }>("GET", "/sessions?limit=100&type=schedule_cron")).items
    .length;
  for (const [name, choice, button, left] of [
    ["keep", null, "Delete automation", before],
    ["drop", /^Delete 2 sessions/, "Delete automation and 2 sessions", before - 2],
  ] as const) {
    await page.goto(`/automations/${name}`);
    await page.getByRole("button", { name: "More actions" }).click();
    await page.getByRole("menuitem", { name: "Delete…" }).click();
    const dialog = page.getByRole("dialog", { name: `Delete ${name}?` });
    if (choice) await dialog.getByRole("radio", { name: choice }).check();
    await dialog.getByRole("button", { name: button, exact: true }).click();
    await expect(page).toHaveURL(/\/automations$/);
    await expect(
      page.getByRole("list", { name: "Automations" }).getByText(name, { exact: true }),
    ).toHaveCount(0);
    const { items } = await stack.api<{ items: object[] }>("GET", "/sessions?limit=100&type=schedule_cron");
    expect(items).toHaveLength(left);
  }
});

test("reached_budget_says_why_it_pauses_and_how_to_go_on", async ({ page, stack, signIn }) => {
  await automation(stack, "digest", { policies: { budget: { day: { turns: 1 } } } });
  await run(stack, "digest");
  await signIn(page);
  await page.goto("/automations/digest");
  await page.getByRole("button", { name: "Run now" }).click();
  const why = "automation's budget of 1 turn a day is used up until";
  const callout = page.getByRole("alert").filter({ hasText: "Paused: its budget is used up" });
  await expect(callout).toContainText(why);
  await expect(callout).toContainText("Raise the budget or wait until then, and resume it.");
  // The run waits and says so.
  await expect(page.getByRole("tabpanel").getByRole("listitem").first()).toContainText(why);

  // The overview offers the step that helps.
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Overview" }).click();
  const need = page
    .getByRole("region", { name: "Needs you" })
    .getByRole("listitem")
    .filter({ hasText: "digest is paused: its budget is used up" });
  await expect(need).toContainText(why);
  await need.getByRole("link", { name: "Raise budget" }).click();
  await page.getByLabel("Turns a day").fill("9");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("button", { name: "Resume" }).click();
  await expect(callout).toHaveCount(0);
  await expect(page.getByRole("tabpanel").getByText("Added 2 entries")).toHaveCount(2);
  await stack.api("DELETE", "/automations/digest?with_sessions=true");
});

test("webhook_shows_its_address_and_secret", async ({ page, stack, signIn }) => {
  await automation(stack, "deployed");
  await signIn(page);
  await page.goto("/automations/deployed?tab=triggers");
  const added = await holdBack(page, "POST", /\/triggers$/);
  const add = page.getByRole("button", { name: "Add a webhook" });
  await add.click();
  await added.sent;
  added.release("lose");
  await expect(page.getByText(/cannot be reached/).first()).toBeVisible();
  // The server has added the webhook, so that a second click adds none.
  await add.click();
  await expect(page.getByText("The webhook was added before.")).toBeVisible();
  const webhook = page.getByRole("tabpanel").getByRole("listitem").filter({ hasText: "on webhook" });
  await expect(webhook).toHaveCount(1);
  await webhook.getByRole("button", { name: "Address and secret" }).click();
  await expect(webhook.getByText(/\/api\/v1\/webhooks\//)).toBeVisible();
  // The response to a rotation has the new secret, so that a failed read cannot hide it.
  const secret = webhook.locator("code").nth(1);
  const former = (await secret.textContent()) ?? "";
  const read = /\/secret$/;
  await page.route(read, (route) => route.abort());
  await webhook.getByRole("button", { name: "Rotate" }).click();
  await expect(page.getByText(/^The former secret holds until/)).toBeVisible();
  await expect(secret).not.toHaveText(former);
  await page.unroute(read);
  // A rotation whose response is lost happens once, and the next click shows its secret.
  const second = (await secret.textContent()) ?? "";
  const rotated = await holdBack(page, "POST", /\/rotate-secret$/);
  const rotate = webhook.getByRole("button", { name: "Rotate" });
  await rotate.click();
  await rotated.sent;
  rotated.release("lose");
  await expect(page.getByText(/cannot be reached/).last()).toBeVisible();
  await rotate.click();
  await expect(secret).not.toHaveText(second);
  await webhook.getByRole("button", { name: "Remove" }).click();
  await expect(webhook).toHaveCount(0);
});

test("list_is_filtered_and_sorted_in_the_address", async ({ page, stack, signIn }) => {
  // The list has no automation of another test.
  const { items } = await stack.api<{ items: { name: string }[] }>("GET", "/automations?limit=100");
  for (const { name } of items) await stack.api("DELETE", `/automations/${name}`);
  await automation(stack, "audit");
  await automation(stack, "backup", { zone: undefined, triggers: [] });
  await automation(stack, "zebra");
  await stack.api("POST", "/automations/zebra/pause");
  await signIn(page);
  await page.goto("/automations");
  const rows = page.getByRole("list", { name: "Automations" }).getByRole("listitem");
  await expect(rows.locator("strong")).toHaveText(["audit", "backup", "zebra"]);
  await page.getByLabel("Sort by").selectOption("next");
  await expect(rows.locator("strong").first()).toHaveText("audit");
  await page.getByRole("button", { name: /^Paused/ }).click();
  await expect(rows.locator("strong")).toHaveText(["zebra"]);
  await expect(page).toHaveURL(/sort=next&tab=paused/);
  await page.keyboard.press("/");
  await page.keyboard.type("nothing");
  await expect(page.getByText("No automation matches.")).toBeVisible();
});

test("viewer_changes_no_automation", async ({ page, stack, signIn }) => {
  await automation(stack, "looked-at");
  await signIn(page, "viewer");
  await page.goto("/automations/looked-at");
  for (const name of ["Run now", "Pause", "Edit"]) {
    await expect(page.getByRole("button", { name, exact: true })).toBeDisabled();
  }
  await expect(page.getByRole("button", { name: "Run now" })).toHaveAttribute("title", /automations:write/);
});
