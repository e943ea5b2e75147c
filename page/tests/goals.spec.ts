/** Goals of the demonstration agent, which needs no model: it plans an outline, parts and a summary. */
import { readFile } from "node:fs/promises";
import { expectNoBarrier, SIZES } from "./barriers";
import { composer, expect, test, transcript } from "./fixtures";
import { DONE_MS, node, reached, read, start, TEXT, taskPanel, tasks } from "./goals";
import { call, converse, fireNew, type Stack } from "./stack";

// Each goal takes a dozen turns.
test.use({ stackName: "goals" });

let finished: Promise<string> | undefined;
/** A goal that is done. The tests that only look at one share it. */
function doneGoal(stack: Stack): Promise<string> {
  finished ??= start(stack, { title: "A guide to tea" }).then(async ({ id }) => {
    await reached(stack, id, "done");
    return id;
  });
  return finished;
}

test("no_goal_shows_the_command_and_the_button", async ({ page, signIn }) => {
  await signIn(page);
  await page.goto("/goals?state=draft");
  await expect(page.getByText("No goal is in this state.")).toBeVisible();
  await expect(page.getByText("matins goal list")).toBeVisible();
  await page.getByRole("button", { name: "New goal" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "New goal" })).toBeVisible();
  await page.goto("/goals/ses_00000000000000000000000000000000");
  await expect(page.getByText("There is no such goal.")).toBeVisible();
});

test("goal_is_started_approved_and_followed_until_it_is_done", async ({ page, stack, signIn }) => {
  test.setTimeout(240_000);
  await signIn(page);
  await page.goto("/goals/new");
  await page.getByLabel("Goal", { exact: true }).fill(TEXT);
  await page.getByLabel("Team", { exact: true }).selectOption("demo");
  await page.getByLabel("Pause after the first plan, until you approve it").check();
  await page.getByRole("button", { name: "Start" }).click();
  await expect(page).toHaveURL(/\/goals\/ses_[0-9a-f]+$/);
  const approve = page.getByRole("button", { name: "Approve the plan" });
  // Nobody reloads: the events of the tasks bring the plan.
  await expect(approve).toBeVisible({ timeout: DONE_MS });
  await expect(page.getByText("The plan waits for you.")).toBeVisible();
  await expect(page.getByText(/The planner answers messages at once, but “Plan again…” waits/)).toBeVisible();
  await expect(node(page, "outline")).toBeVisible();
  await expect(node(page, "summary")).toHaveAccessibleName(/pending/);
  await approve.click();
  await expect(node(page, "outline")).toHaveAccessibleName(/done/, { timeout: DONE_MS });
  await expect(node(page, "summary")).toHaveAccessibleName(/done/, { timeout: DONE_MS });
  const head = page.getByRole("main").locator("header").first();
  await expect(head.getByText("done", { exact: true })).toBeVisible({ timeout: DONE_MS });
  await expect(head.getByRole("button", { name: "Pause" })).toHaveCount(0);
  await expect(page.getByRole("heading", { name: "Report", exact: true })).toBeVisible();
  await expect(page.getByText(/tasks are done/).first()).toBeVisible();
  const id = new URL(page.url()).pathname.split("/")[2] ?? "";
  expect((await read(stack, id)).state).toBe("done");
});

test("task_shows_what_it_asked_for_its_rounds_and_its_runs", async ({ page, stack, signIn }) => {
  test.setTimeout(180_000);
  const id = await doneGoal(stack);
  await signIn(page);
  await page.goto(`/goals/${id}?view=list`);
  const seats = page.getByRole("list", { name: "Seats" }).getByRole("listitem");
  await expect(seats.filter({ hasText: "planner" })).toContainText(/\d+ turns?/);
  await expect(tasks(page).filter({ hasText: "summary" })).toContainText("done");
  await tasks(page).filter({ hasText: "summary" }).getByRole("button").click();
  const panel = taskPanel(page, "summary");
  await expect(panel).toContainText("Accepted by the judge.");
  await expect(panel.getByRole("list", { name: "Must hold" }).getByRole("listitem")).not.toHaveCount(0);
  await expect(panel.getByRole("list", { name: "Evidence" }).getByRole("listitem")).not.toHaveCount(0);
  const runs = panel.getByRole("list", { name: "Runs" });
  // The judge sent it back once.
  await expect(runs.getByRole("link", { name: "work", exact: true })).toBeVisible();
  await expect(runs.getByRole("link", { name: "rework" })).toBeVisible();
  await expect(runs).toContainText("review, sent back");
  await expect(runs).toContainText("review, accepted");
  await runs.getByText(/^\d findings?$/).click();
  await expect(runs.getByRole("list", { name: /finding/ })).toContainText("the number of its words");
  const artifact = panel.getByRole("list", { name: "Artifacts" }).getByRole("link").first();
  const name = (await artifact.textContent()) ?? "";
  await artifact.click();
  await expect(page).toHaveURL(new RegExp(`/conversations/${id}/artifacts\\?name=`));
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(name);
  const downloads = page.getByRole("button", { name: /^Download/ });
  await expect(downloads).toHaveCount(1);
  await expect(downloads).toHaveAccessibleName(`Download ${name}, version 2`);
  await page.getByRole("navigation", { name: "Path" }).getByRole("link", { name: "Artifacts" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Artifacts");
  await expect.poll(() => downloads.count()).toBeGreaterThan(1);
  await page.goBack();
  await page.goBack();
  await expect(page).toHaveURL(/task=summary/);
  await runs.getByRole("link", { name: "rework" }).click();
  await expect(page).toHaveURL(/\/runs\/run_/);
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await page.goBack();
  await panel.getByRole("link", { name: "Conversation" }).click();
  await expect(page).toHaveURL(new RegExp(`/conversations/${id}`));
});

test("report_is_saved_as_a_file", async ({ page, stack, signIn }) => {
  test.setTimeout(180_000);
  const id = await doneGoal(stack);
  await signIn(page);
  await page.goto(`/goals/${id}`);
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Download", exact: true }).click(),
  ]);
  expect(file.suggestedFilename()).toBe("A guide to tea.md");
  const report = await stack.api<{ text: string }>("GET", `/goals/${id}/report`);
  expect(await readFile(await file.path(), "utf8")).toBe(report.text);
  // The report of a goal that is not over is read on request.
  const draft = await start(stack, { title: "A guide without a report: yet", draft: true });
  await page.goto(`/goals/${draft.id}`);
  await page.getByRole("button", { name: "Show", exact: true }).click();
  const [early] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Download", exact: true }).click(),
  ]);
  expect(early.suggestedFilename()).toBe("A guide without a report- yet.md");
});

test("graph_is_walked_by_keys", async ({ page, stack, signIn }) => {
  test.setTimeout(180_000);
  const id = await doneGoal(stack);
  await signIn(page);
  await page.goto(`/goals/${id}`);
  await expect(node(page, "outline")).toBeVisible();
  await node(page, "outline").focus();
  await page.keyboard.press("ArrowRight");
  const drafts = /^(green|black|herbal), done/;
  await expect(page.locator(":focus")).toHaveAccessibleName(drafts);
  await page.keyboard.press("ArrowRight");
  await expect(node(page, "summary")).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(taskPanel(page, "summary")).toBeVisible();
  await expect(node(page, "summary")).toHaveAttribute("aria-pressed", "true");
  await page.keyboard.press("ArrowLeft");
  await expect(page.locator(":focus")).toHaveAccessibleName(drafts);
  // The panel takes its button away, so that the focus returns to the task.
  await taskPanel(page, "summary").getByRole("button", { name: "Close the task" }).press("Enter");
  await expect(taskPanel(page, "summary")).toBeHidden();
  await expect(node(page, "summary")).toBeFocused();
  // The graph leaves plans out.
  const plan = page.getByRole("list", { name: "Phases" }).getByRole("button", { name: "Plan" });
  await plan.press("Enter");
  await page.getByRole("button", { name: "Close the task" }).press("Enter");
  await expect(plan).toBeFocused();
});

test("question_of_a_worker_is_answered_here", async ({ page, stack, signIn }) => {
  test.setTimeout(240_000);
  const { id } = await start(stack, {
    goal: `${TEXT} Ask me who shall read it.`,
    title: "A guide with a question",
  });
  await signIn(page);
  await page.goto(`/goals/${id}`);
  const question = page.getByRole("region", { name: /^Question of worker/ });
  await expect(question).toContainText("Who shall read it?", { timeout: DONE_MS });
  // The line is not cut, and the node has room for it.
  const line = page.getByRole("group", { name: "Graph of the tasks" }).getByText(/^asks you, worker-\d$/);
  await expect(line).toBeVisible();
  const width = (element: SVGElement | HTMLElement) => (element as SVGTextElement).getComputedTextLength();
  expect(await line.evaluate(width)).toBeLessThanOrEqual(142);
  await question.getByRole("textbox").fill("My aunt");
  await question.getByRole("button", { name: "Answer" }).click();
  await expect(question).toHaveCount(0);
  await reached(stack, id, "done");
});

test("question_that_another_person_answers_first_shows_both_answers", async ({ page, stack, signIn }) => {
  const { id } = await start(stack, { title: "A guide with readers", draft: true });
  const run = await fireNew(
    stack,
    "readers",
    call("ask_person", { question: "Who are the readers?", options: ["None"], default: "None" }),
  );
  const { items } = await stack.api<{ items: { id: string; run_id: string }[] }>("GET", "/questions");
  const asked = items.find((each) => each.run_id === run.id)?.id;
  // Of another session, because a goal takes long until it asks.
  await page.route(/\/questions\?session=/, async (route) =>
    route.fulfill({ json: await stack.api("GET", "/questions") }),
  );
  await signIn(page);
  await page.goto(`/goals/${id}`);
  const question = page
    .getByRole("region", { name: /^Question of/ })
    .filter({ hasText: "Who are the readers?" });
  await question.getByRole("textbox").fill("My aunt");
  await stack.api("POST", `/questions/${asked}/answer`, { text: "Everybody" });
  await expect(question).toContainText(/answered at .*: Everybody/);
  await expect(question).toContainText("Your answer was not sent: “My aunt”");
  await question.getByRole("button", { name: "Close" }).click();
  await expect(question).toHaveCount(0);
  // A read may be under way when the stack stops.
  await page.unrouteAll({ behavior: "ignoreErrors" });
});

test("person_writes_to_a_seat_and_cancels_the_goal", async ({ page, stack, signIn }) => {
  test.setTimeout(180_000);
  const { id } = await start(stack, { title: "A guide to steer", approve_plan: true });
  await reached(stack, id, "paused");
  await signIn(page);
  await page.goto(`/goals/${id}`);
  await page.getByLabel("To", { exact: true }).selectOption("worker-1");
  const field = page.getByRole("textbox", { name: "Message to a seat" });
  await field.fill("Keep it <b>short</b>.");
  await page.getByRole("tab", { name: /^Artifacts/ }).click();
  await page.reload();
  await page.getByRole("tab", { name: /^Messages/ }).click();
  await expect(field).toHaveValue("Keep it <b>short</b>.");
  await expect(page.getByLabel("To", { exact: true })).toHaveValue("worker-1");
  await field.press("Enter");
  await expect(field).toHaveValue("");
  const messages = page.getByRole("list", { name: "Messages" });
  await expect(messages).toContainText("→ worker-1");
  // Text stays text.
  await expect(messages).toContainText("Keep it <b>short</b>.");
  await field.fill("One more thing.");
  await page.getByRole("button", { name: "Cancel…" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText("A cancelled goal cannot go on.");
  await dialog.getByRole("button", { name: "Cancel the goal" }).click();
  await expect(page.getByText("cancelled", { exact: true }).first()).toBeVisible();
  expect((await read(stack, id)).state).toBe("failed");
  await expect(field).toHaveCount(0);
  const unsent = page.getByText("Your message was not sent.");
  await expect(page.getByText("One more thing.")).toBeVisible();
  await page.getByRole("tabpanel").getByRole("button", { name: "Discard" }).click();
  await expect(unsent).toHaveCount(0);
});

test("conversation_of_a_goal_takes_messages_for_a_seat_and_links_back", async ({ page, stack, signIn }) => {
  const { id } = await start(stack, { title: "A guide to talk about", draft: true });
  await signIn(page);
  await page.goto(`/goals/${id}`);
  await page.getByRole("link", { name: "Message worker-2 in the conversation" }).click();
  await expect(page).toHaveURL(new RegExp(`/conversations/${id}$`));
  const seat = page.getByRole("combobox", { name: "Seat" });
  await expect(seat).toHaveValue("worker-2");
  await seat.selectOption("judge");
  await composer(page).fill("Be strict.");
  // A message to a seat stands in the transcript with its receiver.
  await stack.api("POST", `/sessions/${id}/seat-messages`, { to: "worker-1", text: "Green tea first." });
  await expect(transcript(page).getByText("to worker-1", { exact: true })).toBeVisible();
  const panel = page.getByRole("complementary", { name: "Details of the conversation" });
  await panel.getByRole("link", { name: "Goal", exact: true }).click();
  await expect(page).toHaveURL(new RegExp(`/goals/${id}$`));
  // The text goes to the seat for which it was written.
  await page.goBack();
  await expect(composer(page)).toHaveValue("Be strict.");
  await expect(seat).toHaveValue("judge");
});

test("list_of_conversations_leaves_out_goals_alone", async ({ page, stack, signIn }) => {
  const chat = await converse(stack, "A talk beside goals");
  const team = await stack.api<{ id: string }>("POST", "/sessions", {
    seats: [
      { role: "planner", agent: "claude" },
      { role: "worker", agent: "claude" },
    ],
    title: "A team without a goal",
  });
  const { id } = await start(stack, { title: "A guide beside talks", draft: true });
  await signIn(page);
  await page.goto(`/conversations/${team.id}`);
  const list = page.getByRole("list", { name: "Conversations" }).first();
  await expect(list.getByRole("link", { name: /A team without a goal/ })).toBeVisible();
  await expect(list.getByRole("link", { name: /A talk beside goals/ })).toHaveAttribute(
    "href",
    `/conversations/${chat}`,
  );
  await expect(list.getByRole("link", { name: /A guide beside talks/ })).toHaveCount(0);
  const mark = page.getByRole("link", { name: "The goal of this conversation" });
  await expect(mark).toHaveCount(0);
  // Its goal leads to the conversation, which leads back.
  await page.goto(`/goals/${id}`);
  await page.getByRole("link", { name: "Conversation", exact: true }).click();
  await expect(page).toHaveURL(new RegExp(`/conversations/${id}$`));
  await mark.click();
  await expect(page).toHaveURL(new RegExp(`/goals/${id}$`));
});

test("older_messages_of_a_goal_come_on_request", async ({ page, stack, signIn }) => {
  const { id } = await start(stack, { title: "A guide to write about", draft: true });
  const write = (number: number) =>
    stack.api("POST", `/sessions/${id}/seat-messages`, { to: "worker-1", text: `Number ${number}.` });
  for (let number = 1; number <= 25; number += 1) await write(number);
  await signIn(page);
  await page.goto(`/goals/${id}`);
  const items = page.getByRole("list", { name: "Messages" }).getByRole("listitem");
  await expect(items).toHaveCount(20);
  await expect(items.first()).toContainText("Number 25.");
  // The answer with the older messages waits until an event has made the list stale.
  let release = () => {};
  const stale = new Promise<void>((done) => {
    release = done;
  });
  const olderPages = /\/seat-messages\?.*since=/;
  await page.route(olderPages, async (route) => {
    await stale;
    await route.continue();
  });
  const older = page.getByRole("button", { name: "Show older" });
  const asked = page.waitForRequest(olderPages);
  await older.click();
  await asked;
  await expect(older).toHaveAttribute("aria-busy", "true");
  // The event makes both stale, the goal and its messages.
  const refetched = page.waitForRequest((request) =>
    new URL(request.url()).pathname.endsWith(`/goals/${id}`),
  );
  await write(26);
  await refetched;
  release();
  await expect(items).toHaveCount(26);
  await expect(items.first()).toContainText("Number 26.");
  await expect(items.last()).toContainText("Number 1.");
  await expect(older).toHaveCount(0);
});

test("draft_is_edited_and_started", async ({ page, stack, signIn }) => {
  test.setTimeout(180_000);
  const { id } = await start(stack, { title: "A later guide", draft: true });
  await signIn(page);
  await page.goto("/goals?state=draft");
  await page.getByRole("link", { name: /A later guide/ }).click();
  await page.getByRole("button", { name: "Actions of the goal" }).click();
  await page.getByRole("menuitem", { name: "Edit…" }).click();
  const dialog = page.getByRole("dialog", { name: "Edit the goal" });
  await dialog.getByText("Limits", { exact: true }).click();
  const turns = dialog.getByLabel("Turns", { exact: true });
  await turns.fill("0");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(dialog).toContainText(/accepted are 1 to/);
  await turns.fill("12o");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(dialog).toContainText("“12o” is no whole number.");
  await expect(turns).toBeFocused();
  await turns.press("Escape");
  await page
    .getByRole("dialog", { name: "Discard your changes?" })
    .getByRole("button", { name: "Keep editing" })
    .click();
  await turns.fill("120");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(dialog).toHaveCount(0);
  await expect(page.getByText("of 120")).toBeVisible();
  const moves: string[] = [];
  page.on("request", (request) => request.method() === "POST" && moves.push(request.url()));
  await page.getByRole("button", { name: "Start" }).dblclick();
  await expect(page.getByRole("button", { name: "Pause", exact: true })).toBeVisible();
  await reached(stack, id, "done");
  expect(moves).toHaveLength(1);
});

test("goal_whose_plan_waits_is_on_the_overview_and_counted", async ({ page, stack, signIn }) => {
  test.setTimeout(180_000);
  const title = "A plan to approve";
  const { id } = await start(stack, { title, approve_plan: true });
  await signIn(page);
  await page.goto("/");
  const needs = page.getByRole("region", { name: "Needs you" });
  const row = needs.getByRole("listitem").filter({ hasText: `${title} has a plan` });
  // Nobody reloads: the event of the goal brings the row.
  await expect(row).toBeVisible({ timeout: DONE_MS });
  await row.getByRole("link", { name: `Open the goal ${title}` }).click();
  await expect(page).toHaveURL(new RegExp(`/goals/${id}`));
  const counted = page.getByRole("link", { name: /^Goals.*to decide$/ });
  await expect(counted).toBeVisible();
  await stack.api("POST", `/goals/${id}/cancel`);
  await expect(counted).toHaveCount(0);
});

test("rows_of_goals_are_walked_and_opened_by_keys", async ({ page, stack, signIn }) => {
  const older = await start(stack, { title: "An older guide to walk to", draft: true });
  await start(stack, { title: "A newer guide to walk past", draft: true });
  await signIn(page);
  await page.goto("/goals?state=draft");
  const rows = page.getByRole("list", { name: "Goals" }).getByRole("link");
  await expect(rows.first()).toContainText("A newer guide to walk past");
  await page.keyboard.press("j");
  await expect(rows.first()).toBeFocused();
  await page.keyboard.press("j");
  await expect(rows.nth(1)).toBeFocused();
  await page.keyboard.press("k");
  await expect(rows.first()).toBeFocused();
  await page.keyboard.press("k");
  await expect(rows.first()).toBeFocused();
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(new RegExp(`/goals/${older.id}$`));
});

test("viewer_sees_a_goal_and_cannot_move_it", async ({ page, stack, signIn }) => {
  const { id } = await start(stack, { title: "A guide to look at", draft: true });
  await signIn(page, "viewer");
  await page.goto(`/goals/${id}`);
  const begin = page.getByRole("button", { name: "Start" });
  await expect(begin).toBeDisabled();
  await expect(begin).toHaveAttribute("title", /needs sessions:write/);
  await expect(page.getByRole("button", { name: "Cancel…" })).toBeDisabled();
  await expect(page.getByRole("button", { name: "Add a task…" })).toBeDisabled();
  await expect(page.getByRole("textbox", { name: "Message to a seat" })).toBeDisabled();
  await page.goto("/goals/new");
  await expect(page.getByText("You cannot start a goal.")).toBeVisible();
  await expect(page.getByRole("button", { name: "Start" })).toBeDisabled();
});

test("keys_and_palette_lead_to_goals", async ({ page, signIn }) => {
  await signIn(page);
  await page.goto("/runs");
  await expect(page.getByRole("heading", { level: 1, name: "Runs" })).toBeVisible();
  await page.keyboard.press("g");
  await page.keyboard.press("l");
  await expect(page.getByRole("heading", { level: 1, name: "Goals" })).toBeVisible();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("new goal");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/goals\/new$/);
});

test("palette_finds_a_goal", async ({ page, stack, signIn }) => {
  const { id } = await start(stack, { title: "A guide that is sought", draft: true });
  await signIn(page);
  await page.goto("/runs");
  await expect(page.getByRole("heading", { level: 1, name: "Runs" })).toBeVisible();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("sought");
  await expect(page.getByRole("option", { name: /A guide that is sought/ })).toHaveCount(1);
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(new RegExp(`/goals/${id}$`));
});

for (const size of SIZES) {
  test.describe(`${size.width}`, () => {
    test.use({ viewport: size });

    test("goals_have_no_barrier", async ({ page, stack, signIn }) => {
      test.setTimeout(240_000);
      const id = await doneGoal(stack);
      await signIn(page);
      const check = async (view: string) => {
        await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
        await expect(page.getByRole("status", { name: "Loading" })).toHaveCount(0);
        await expectNoBarrier(page, view);
        const hidden = await page.getByRole("main").evaluate((main) => main.scrollWidth - main.clientWidth);
        expect(hidden, view).toBe(0);
      };
      await page.goto("/goals");
      await expect(page.getByRole("link", { name: /A guide to tea/ })).toBeVisible();
      await check("goals");
      await page.goto("/goals/new");
      await expect(page.getByRole("list", { name: "Seats of research" })).toBeVisible();
      await page.getByRole("main").getByText("More", { exact: true }).click();
      await expect(page.getByLabel("Turns", { exact: true })).toBeVisible();
      await check("new goal");
      await page.goto(`/goals/${id}?view=graph&task=summary`);
      await expect(node(page, "summary")).toBeVisible();
      await expect(taskPanel(page, "summary").getByRole("list", { name: "Runs" })).toBeVisible();
      await expect(page.getByText(/tasks are done/).first()).toBeVisible();
      await check("graph");
      await page.goto(`/goals/${id}?view=list&tab=memory`);
      await expect(tasks(page).first()).toBeVisible();
      await check("list");
      await page.goto("/goals/ses_00000000000000000000000000000000");
      await expect(page.getByText("There is no such goal.")).toBeVisible();
      await check("missing goal");
    });

    test("narrow_screens_begin_with_the_list", async ({ page, stack, signIn }) => {
      test.setTimeout(180_000);
      const id = await doneGoal(stack);
      await signIn(page);
      await page.goto(`/goals/${id}`);
      const form = size.width < 640 ? "List" : "Graph";
      await expect(page.getByRole("button", { name: form, exact: true })).toHaveAttribute(
        "aria-pressed",
        "true",
      );
    });
  });
}
