/** Goals that a person moves: a task that the judge never accepts, a pause, and questions. */
import { expectNoBarrier } from "./barriers";
import { composer, expect, test } from "./fixtures";
import { DONE_MS, reached, start, TEXT, taskPanel, tasks } from "./goals";

test.use({ stackName: "goal-decisions" });

test("task_that_the_judge_sends_back_is_retried_and_accepted_by_a_person", async ({
  page,
  stack,
  signIn,
}) => {
  test.setTimeout(240_000);
  const { id } = await start(stack, {
    goal: "Write a line about tea. Let me accept it.",
    title: "A line to accept",
    // With room for a single task, the whole goal is its summary.
    limits: { plan: 1, rounds: 1 },
    verify: ["echo counted"],
  });
  await signIn(page);
  await page.goto(`/goals/${id}?view=list`);
  const stuck = page.getByText("It is stuck: nothing can run.");
  // Nobody reloads: the events of the tasks bring the failure.
  await expect(stuck).toBeVisible({ timeout: DONE_MS });
  await expect(
    page.getByText("The task has failed. Retry, edit, replace, accept or cancel it"),
  ).toBeVisible();
  const row = tasks(page).filter({ hasText: "summary" });
  await expect(row).toContainText("not accepted");
  await page.getByRole("button", { name: "summary", exact: true }).click();
  const panel = taskPanel(page, "summary");
  await expect(panel).toContainText("Not accepted.");
  await expect(panel.getByRole("list", { name: "Findings" })).toContainText("No person has accepted");
  const checks = panel.getByRole("list", { name: "Checks by command" });
  await expect(checks).toContainText("verify passed");
  await checks.getByText("Last lines").click();
  await expect(checks.getByText("counted", { exact: true })).toBeVisible();
  await panel.getByRole("button", { name: "Retry…" }).click();
  const retry = page.getByRole("dialog", { name: "Retry “summary”?" });
  const comment = retry.getByLabel("Comment (optional)");
  await comment.fill("Count its words.");
  await comment.press("Escape");
  await page
    .getByRole("dialog", { name: "Discard your comment?" })
    .getByRole("button", { name: "Keep editing" })
    .click();
  await expect(comment).toHaveValue("Count its words.");
  await retry.getByRole("button", { name: "Retry", exact: true }).click();
  await expect(page.getByText("summary is retried")).toBeVisible();
  // The planner gets the comment.
  const transcript = async () => JSON.stringify(await stack.api("GET", `/sessions/${id}/messages?last=50`));
  await expect.poll(transcript, { timeout: DONE_MS }).toContain("Count its words.");
  // The judge sends it back again, so that only a person is left.
  await expect(stuck).toHaveCount(0);
  await expect(stuck).toBeVisible({ timeout: DONE_MS });
  await panel.getByRole("button", { name: "Accept as is…" }).click();
  const accept = page.getByRole("dialog", { name: "Accept “summary”?" });
  await accept.getByRole("button", { name: "Accept", exact: true }).click();
  await expect(accept).toHaveCount(0);
  await expect(panel).toContainText("Accepted by a person.");
  await expect(row).toContainText("accepted by a person");
  const head = page.getByRole("main").locator("header").first();
  await expect(head.getByText("done", { exact: true })).toBeVisible({ timeout: DONE_MS });
  await reached(stack, id, "done");
});

test("failed_task_is_edited_and_retried_until_the_judge_accepts_it", async ({ page, stack, signIn }) => {
  test.setTimeout(240_000);
  const { id } = await start(stack, {
    goal: "Write a line about tea. Let me accept it.",
    title: "A line to edit",
    limits: { plan: 1, rounds: 1 },
  });
  await signIn(page);
  await page.goto(`/goals/${id}?view=list&task=summary`);
  const panel = taskPanel(page, "summary");
  await expect(page.getByText("It is stuck: nothing can run.")).toBeVisible({ timeout: DONE_MS });
  await expect(panel.getByRole("list", { name: "Findings" })).toContainText("No person has accepted");
  // What the last round shows is not repeated at its run.
  const runs = panel.getByRole("list", { name: "Runs" });
  await expect(runs).toContainText("review, sent back");
  await expect(runs.getByText(/^\d findings?$/)).toHaveCount(0);
  // The key edits the chosen task rather than the goal.
  await page.keyboard.press("e");
  const dialog = page.getByRole("dialog", { name: "Edit “summary”" });
  await expect(dialog).toContainText("It stays failed until you retry it.");
  await expect(dialog.getByRole("button", { name: "Save and retry" })).toBeDisabled();
  const title = dialog.getByLabel("Title", { exact: true });
  const acceptance = dialog.getByLabel("Must hold", { exact: true });
  await expect(acceptance).toHaveValue(/\nA person has accepted it\.$/);
  await acceptance.fill("It is about tea.");
  await title.fill("");
  await dialog.getByRole("button", { name: "Save", exact: true }).click();
  await expect(title).toBeFocused();
  await expect(title).toHaveAttribute("aria-invalid", "true");
  await title.fill("Mine");
  await title.press("Escape");
  await page
    .getByRole("dialog", { name: "Discard your changes?" })
    .getByRole("button", { name: "Keep editing" })
    .click();
  // Another person is faster.
  const { tasks: listed } = await stack.api<{ tasks: { id: string; key: string }[] }>(
    "GET",
    `/sessions/${id}/tasks`,
  );
  const task = `/tasks/${listed.find(({ key }) => key === "summary")?.id}`;
  await stack.api("PATCH", task, { title: "Theirs", priority: 1 });
  await page.setViewportSize({ width: 320, height: 640 });
  await dialog.evaluate((element) => element.scrollTo({ top: element.scrollHeight }));
  await dialog.getByRole("button", { name: "Save and retry" }).click();
  const stored = dialog.getByRole("alert", { name: "Changed meanwhile" });
  // The form does not hide it above its upper edge.
  await expect(stored.getByRole("heading")).toBeInViewport();
  await page.setViewportSize({ width: 1280, height: 800 });
  await expect(stored).toContainText("It has changed since you opened it.");
  await expect(stored).toContainText("Theirs");
  await expect(title).toHaveValue("Mine");
  await expect(dialog.getByLabel("Priority", { exact: true })).toHaveValue("1");
  await expectNoBarrier(page, "edit of a task");
  await page.setViewportSize({ width: 320, height: 640 });
  expect(await dialog.evaluate((element) => element.scrollWidth - element.clientWidth)).toBe(0);
  await page.setViewportSize({ width: 1280, height: 800 });
  await stored.getByRole("button", { name: "Take it: the stored title" }).click();
  await expect(title).toHaveValue("Theirs");
  await dialog.getByRole("button", { name: "Save mine and retry" }).click();
  await expect(page.getByText("summary is saved and retried")).toBeVisible();
  await expect(dialog).toHaveCount(0);
  await expect(panel).toContainText("Accepted by the judge.", { timeout: DONE_MS });
  await expect(panel.getByRole("list", { name: "Must hold" })).toHaveText(/It is about tea\.$/);
  await expect(panel.getByRole("button", { name: "Edit…" })).toHaveCount(0);
  await expect(runs).toContainText("review, accepted");
  await runs.getByText(/^\d findings?$/).click();
  await expect(runs.getByRole("list", { name: /^\d findings?$/ })).toContainText("No person has accepted");
  expect(await stack.api("GET", task)).toMatchObject({
    title: "Theirs",
    priority: 1,
    acceptance: ["It is about tea."],
  });
  await reached(stack, id, "done");
});

test("task_is_added_to_a_plan_that_another_person_changes_meanwhile", async ({ page, stack, signIn }) => {
  test.setTimeout(180_000);
  const { id } = await start(stack, { title: "A plan to add to", approve_plan: true });
  await reached(stack, id, "paused");
  await signIn(page);
  await page.goto(`/goals/${id}?view=list`);
  await expect(page.getByRole("button", { name: "Add a task…" })).toBeEnabled();
  await page.keyboard.press("n");
  const dialog = page.getByRole("dialog", { name: "Add a task" });
  const key = dialog.getByLabel("Key", { exact: true });
  const add = dialog.getByRole("button", { name: "Add", exact: true });
  await expect(key).toBeFocused();
  await key.fill("outline");
  await dialog.getByLabel("Title", { exact: true }).fill("Write the closing words");
  await add.click();
  await expect(key).toBeFocused();
  await expect(key).toHaveAttribute("aria-invalid", "true");
  await expect(dialog).toContainText("use another key");
  await key.fill("closing");
  const role = dialog.getByLabel("Role", { exact: true });
  await expect(role).toHaveValue("worker");
  await expect(role).toContainText("judge");
  await expect(role).not.toContainText("planner");
  const before = dialog.getByRole("group", { name: "Waits for" });
  await before.getByRole("checkbox", { name: /summary/ }).check();
  await dialog.getByLabel("Must hold", { exact: true }).fill("It is about tea.");
  await dialog.getByLabel("Priority", { exact: true }).selectOption("0");
  await dialog.getByLabel(/^Optional/).check();
  const writes = dialog.getByLabel("Writes", { exact: true });
  const more = dialog.getByText("More", { exact: true });
  await expect(writes).toBeHidden();
  await more.click();
  await writes.fill("../closing.md");
  await more.click();
  await expect(writes).toBeHidden();
  // Escape asks first.
  await key.press("Escape");
  await page
    .getByRole("dialog", { name: "Discard the task?" })
    .getByRole("button", { name: "Keep editing" })
    .click();
  // Another person is faster.
  const path = `/sessions/${id}/tasks`;
  const list = () => stack.api<{ plan_version: number; tasks: { key: string }[] }>("GET", path);
  const preface = { key: "preface", title: "Write the preface", role: "worker" };
  await stack.api("POST", path, { plan_version: (await list()).plan_version, tasks: [preface] });
  await add.click();
  const changed = dialog.getByRole("alert", { name: "Changed meanwhile" });
  await expect(changed).toContainText("The plan has changed since you opened this form.");
  await expect(changed).toContainText("New: preface.");
  await expect(key).toHaveValue("closing");
  await expect(before.getByRole("checkbox", { name: /preface/ })).not.toBeChecked();
  await expect(before.getByRole("checkbox", { name: /summary/ })).toBeChecked();
  // A refusal unfolds its field.
  await add.click();
  await expect(writes).toBeFocused();
  await expect(writes).toHaveAttribute("aria-invalid", "true");
  await expectNoBarrier(page, "a new task");
  await page.setViewportSize({ width: 320, height: 640 });
  expect(await dialog.evaluate((element) => element.scrollWidth - element.clientWidth)).toBe(0);
  await page.setViewportSize({ width: 1280, height: 800 });
  await writes.fill("closing.md");
  await add.click();
  await expect(page.getByText("closing is added")).toBeVisible();
  await expect(dialog).toHaveCount(0);
  const panel = taskPanel(page, "closing");
  await expect(panel).toContainText("After summary");
  await expect(panel).toContainText("worker, priority 0, optional");
  await expect(page).toHaveURL(/task=closing/);
  expect((await list()).tasks.find((task) => task.key === "closing")).toMatchObject({
    role: "worker",
    depends_on: ["summary"],
    priority: 0,
    optional: true,
  });
  await page.setViewportSize({ width: 320, height: 640 });
  const seats = page.getByRole("list", { name: "Seats" });
  expect(await seats.evaluate((element) => element.scrollWidth - element.clientWidth)).toBe(0);
});

test("failed_task_is_replaced_by_another_one_that_the_judge_accepts", async ({ page, stack, signIn }) => {
  test.setTimeout(240_000);
  const { id } = await start(stack, {
    goal: "Write a line about tea. Let me accept it.",
    title: "A line to replace",
    limits: { plan: 1, rounds: 1 },
  });
  await signIn(page);
  await page.goto(`/goals/${id}?view=list&task=summary`);
  await expect(page.getByText("It is stuck: nothing can run.")).toBeVisible({ timeout: DONE_MS });
  const panel = taskPanel(page, "summary");
  await panel.getByRole("button", { name: "Edit…" }).click();
  const edit = page.getByRole("dialog", { name: "Edit “summary”" });
  await edit.getByLabel("Title", { exact: true }).fill("Write the line");
  // Another person saves the same first, so that nothing is left but to retry.
  const { tasks: listed } = await stack.api<{ tasks: { id: string; key: string }[] }>(
    "GET",
    `/sessions/${id}/tasks`,
  );
  const summary = listed.find(({ key }) => key === "summary");
  await stack.api("PATCH", `/tasks/${summary?.id}`, { title: "Write the line" });
  await edit.getByRole("button", { name: "Save and retry" }).click();
  await expect(edit.getByRole("alert", { name: "Changed meanwhile" })).toContainText(
    "Both are the same now.",
  );
  await expect(edit.getByRole("button", { name: "Save mine" })).toBeDisabled();
  await edit.getByRole("button", { name: "Retry", exact: true }).click();
  await expect(page.getByText("summary is retried")).toBeVisible();
  await expect(edit).toHaveCount(0);
  await expect(panel.getByRole("button", { name: "Replace…" })).toHaveCount(0);
  await panel.getByRole("button", { name: "Replace…" }).click({ timeout: DONE_MS });
  const dialog = page.getByRole("dialog", { name: "Replace “summary”" });
  await expect(dialog.getByLabel("Key", { exact: true })).toHaveValue("summary-again");
  await expect(dialog.getByLabel("Title", { exact: true })).toHaveValue("Write the line");
  const replaces = dialog.getByRole("group", { name: "Replaces" });
  await expect(replaces.getByRole("checkbox", { name: /summary/ })).toBeChecked();
  const acceptance = dialog.getByLabel("Must hold", { exact: true });
  await expect(acceptance).toHaveValue(/\nA person has accepted it\.$/);
  await acceptance.fill("It is about tea.");
  await dialog.getByRole("button", { name: "Replace", exact: true }).click();
  await expect(page.getByText("summary-again replaces summary")).toBeVisible();
  await expect(page.locator('[data-task="summary-again"]')).toBeFocused();
  await expect(taskPanel(page, "summary-again")).toContainText("Accepted by the judge.", {
    timeout: DONE_MS,
  });
  const { tasks: stored } = await stack.api<{ tasks: { key: string }[] }>("GET", `/sessions/${id}/tasks`);
  expect(stored.find((task) => task.key === "summary")).toMatchObject({ status: "CANCELLED" });
  await reached(stack, id, "done");
  await expect(page.getByRole("button", { name: "Add a task…" })).toHaveCount(0);
});

test("pause_is_undone_and_a_paused_goal_goes_on", async ({ page, stack, signIn }) => {
  test.setTimeout(180_000);
  // It waits for the answer meanwhile.
  const { id } = await start(stack, { goal: `${TEXT} Ask me who shall read it.`, title: "A guide to pause" });
  await signIn(page);
  await page.goto(`/goals/${id}`);
  await expect(page.getByRole("region", { name: /^Question of worker/ })).toBeVisible({ timeout: DONE_MS });
  const pause = page.getByRole("button", { name: "Pause", exact: true });
  const resume = page.getByRole("button", { name: "Resume", exact: true });
  await pause.click();
  await expect(resume).toBeVisible();
  await page.getByRole("status").getByRole("button", { name: "Undo" }).click();
  await expect(pause).toBeVisible();
  const graph = page.getByRole("group", { name: "Graph of the tasks" });
  await expect(graph.getByText(/^waits for green/)).toBeVisible();
  await pause.click();
  await resume.click();
  await expect(pause).toBeVisible();
  await reached(stack, id, "active");
});

test("question_stays_among_the_messages_with_its_answer", async ({ page, stack, signIn }) => {
  test.setTimeout(180_000);
  const { id } = await start(stack, {
    goal: `${TEXT} Ask me who shall read it.`,
    title: "A guide to ask about",
  });
  await signIn(page);
  await page.goto(`/goals/${id}`);
  const entry = page.getByRole("list", { name: "Messages" }).getByRole("listitem");
  await expect(entry).toContainText(/worker-\d asks/, { timeout: DONE_MS });
  await expect(entry).toContainText("Who shall read it?");
  await expect(entry).toContainText("It waits for an answer until");
  await expect(page.getByRole("tab", { name: "Messages 1", exact: true })).toBeVisible();
  const question = page.getByRole("region", { name: /^Question of worker/ });
  await question.getByRole("textbox").fill("beginners");
  await question.getByRole("button", { name: "Answer" }).click();
  await expect(entry).toContainText(/worker-\d asked/);
  await expect(entry).toContainText(/answered at .*: beginners/);
  await stack.api("POST", `/sessions/${id}/seat-messages`, { to: "judge", text: "Be strict." });
  await expect(entry).toHaveCount(2);
  await expect(entry.first()).toContainText("→ judge");
  await expect(page.getByRole("tab", { name: "Messages 2", exact: true })).toBeVisible();
  await page.getByRole("tab", { name: /^Memory/ }).click();
  // The planner has remembered the files.
  await expect(page.getByRole("tab", { name: "Memory 1", exact: true })).toBeVisible();
});

test("questions_of_seats_keep_their_answers_apart", async ({ page, stack, signIn }) => {
  const { id } = await start(stack, { title: "A guide of three questions", draft: true });
  const { seats } = await stack.api<{ seats: { id: string; name: string }[] }>("GET", `/goals/${id}`);
  // Three agents would have to ask at once.
  const form = { type: "object", properties: { server: { type: "string", title: "Server" } } };
  const deadline_at = new Date(Date.now() + 3_600_000).toISOString();
  const ask = (name: string, form: object | null) => {
    const seat_id = seats.find((seat) => seat.name === name)?.id;
    const asked = { session_id: id, seat_id, text: "Which one?", options: [], default: null, form };
    return { id: `que_${name}`, state: "pending", created_at: deadline_at, deadline_at, ...asked };
  };
  const items = [ask("worker-1", form), ask("worker-2", form), ask("judge", null)];
  await page.route(/\/questions\?session=/, (route) => route.fulfill({ json: { items, next: null } }));
  const inputOf = (name: string) =>
    page.getByRole("region", { name: `Question of ${name}` }).getByRole("textbox");
  await signIn(page);
  await page.goto(`/goals/${id}`);
  await page.getByText("Server", { exact: true }).nth(1).click();
  await page.keyboard.type("beta");
  await expect(inputOf("worker-2")).toHaveValue("beta");
  await expect(inputOf("worker-1")).toHaveValue("");
  await inputOf("judge").fill("My aunt");
  await page.getByRole("link", { name: "Conversation", exact: true }).click();
  await expect(composer(page)).toBeVisible();
  await page.goBack();
  await expect(inputOf("judge")).toHaveValue("My aunt");
  await signIn(page, "viewer");
  await page.goto(`/goals/${id}`);
  for (const name of ["worker-1", "judge"]) await expect(inputOf(name)).toBeDisabled();
  await page.unrouteAll({ behavior: "ignoreErrors" });
});

test("state_and_seats_keep_their_words_together", async ({ page, stack, signIn }) => {
  const { id } = await start(stack, { title: "A".repeat(190), draft: true });
  await page.route(new RegExp(`/api/v1/goals/${id}$`), async (route) => {
    const response = await route.fetch();
    const json = { ...(await response.json()), state: "paused", reason: "approve_plan" };
    await route.fulfill({ response, json });
  });
  await signIn(page);
  await page.goto(`/goals/${id}`);
  const head = page.getByRole("main").locator("header").first();
  const seats = page.getByRole("list", { name: "Seats" });
  await expect(seats).toBeVisible();
  for (const width of [650, 880, 1110, 1150, 1280]) {
    await page.setViewportSize({ width, height: 800 });
    const words = [
      head.getByText("its plan waits for you"),
      ...(await seats.getByRole("link").all()),
      ...(await seats.getByText("free").all()),
    ];
    for (const word of words) expect((await word.boundingBox())?.height, `${width}`).toBeLessThan(30);
  }
  await page.unrouteAll({ behavior: "ignoreErrors" });
});
