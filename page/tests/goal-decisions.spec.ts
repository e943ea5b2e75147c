/** Goals that a person moves: a task that the judge never accepts, a pause, and a question. */
import { expect, test } from "./fixtures";
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
  await expect(page.getByText("The task has failed. Retry, accept or cancel it")).toBeVisible();
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
  await retry.getByLabel("Comment (optional)").fill("Count its words.");
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
