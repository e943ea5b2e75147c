/** Goals in the views of other things: the inbox, the overview, the runs, the palette and the keys. */
import { expect, test } from "./fixtures";
import { type Stack, settled } from "./stack";

test.use({ stackName: "goals-elsewhere" });

interface Named {
  id: string;
}

/** Starts a goal whose planner does what the text says. */
const start = (stack: Stack, title: string, goal: string): Promise<Named> =>
  stack.api<Named>("POST", "/goals", { title, goal, team: "research", agent: "claude" });

/** Waits until a list of the API has an item. */
async function listed(stack: Stack, path: string): Promise<void> {
  await expect
    .poll(async () => (await stack.api<{ items: Named[] }>("GET", path)).items.length, { timeout: 30_000 })
    .toBeGreaterThan(0);
}

let asking: Promise<string> | undefined;
/** A goal at work, whose planner waits for an answer. */
function askingGoal(stack: Stack): Promise<string> {
  asking ??= start(stack, "A guide to choose", "It asks by a form.").then(async ({ id }) => {
    await listed(stack, `/questions?session=${id}`);
    return id;
  });
  return asking;
}

test("question_of_a_seat_names_its_goal_and_leads_to_it", async ({ page, stack, signIn }) => {
  const id = await askingGoal(stack);
  await signIn(page);
  await page.goto("/approvals");
  const row = page.getByRole("region", { name: "Requests" }).getByRole("link", { name: /Which server\?/ });
  await expect(row).toContainText("A guide to choose");
  await row.click();
  const question = page.getByRole("region", { name: "Question", exact: true });
  await expect(question.getByRole("heading", { level: 2 })).toHaveText("A guide to choose has a question");
  await expect(question).toContainText("run of claude as planner");
  await expect(question.getByRole("link", { name: "conversation", exact: true })).toHaveAttribute(
    "href",
    new RegExp(`^/conversations/${id}\\?run=`),
  );
  await question.getByRole("link", { name: "A guide to choose", exact: true }).click();
  await expect(page).toHaveURL(new RegExp(`/goals/${id}$`));
});

test("overview_counts_the_goals_at_work", async ({ page, stack, signIn }) => {
  const { id } = await start(stack, "A guide in the making", "Write it slowly.");
  await signIn(page);
  await page.goto("/");
  const atWork = page.getByRole("list", { name: "Now" }).getByRole("link", { name: "1 goal at work" });
  await atWork.click();
  await expect(page).toHaveURL(/\/goals\?state=active$/);
  await expect(page.getByRole("link", { name: /A guide in the making/ })).toBeVisible();
  await page.goBack();
  await expect(atWork).toBeVisible();
  await stack.api("POST", `/goals/${id}/cancel`);
  await expect(atWork).toHaveCount(0);
});

test("goal_is_paused_and_edited_by_keys_and_the_palette", async ({ page, stack, signIn }) => {
  const id = await askingGoal(stack);
  const state = async () => (await stack.api<{ state: string }>("GET", `/goals/${id}`)).state;
  await signIn(page);
  await page.goto("/runs");
  await expect(page.getByRole("heading", { level: 1, name: "Runs" })).toBeVisible();
  await page.keyboard.press("Control+k");
  const input = page.getByRole("combobox", { name: "Find or do" });
  await input.fill("pause guide");
  await expect(page.getByRole("option", { name: "Pause A guide to choose" })).toBeVisible();
  await page.keyboard.press("Enter");
  await expect.poll(state).toBe("paused");
  // The ID is that of a session, too. The goal is there once the palette has read the list.
  await page.keyboard.press("Control+k");
  await input.fill(id);
  await expect(page.getByRole("option", { name: /A guide to choose/ })).toBeVisible();
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(new RegExp(`/goals/${id}$`));
  await expect(page.getByRole("button", { name: "Resume" })).toBeVisible();
  await page.keyboard.press("p");
  await expect.poll(state).toBe("active");
  await expect(page.getByRole("button", { name: "Pause" })).toBeVisible();
  await page.keyboard.press("e");
  const dialog = page.getByRole("dialog", { name: "Edit the goal" });
  await expect(dialog).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(dialog).toBeHidden();
  await page.keyboard.press("p");
  await expect.poll(state).toBe("paused");
});

test("keys_of_a_viewer_change_no_goal", async ({ page, stack, signIn }) => {
  const id = await askingGoal(stack);
  const { state } = await stack.api<{ state: string }>("GET", `/goals/${id}`);
  await signIn(page, "viewer");
  await page.goto(`/goals/${id}`);
  await expect(page.getByRole("button", { name: "Cancel…" })).toBeDisabled();
  await page.keyboard.press("p");
  await page.keyboard.press("e");
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog")).toHaveCount(1);
  await expect(page.getByRole("dialog", { name: "Keys" })).toBeVisible();
  expect(await stack.api("GET", `/goals/${id}`)).toMatchObject({ state });
});

test("failed_turn_of_a_task_leads_to_its_goal_and_is_not_retried", async ({ page, stack, signIn }) => {
  const { id } = await start(stack, "A guide that fails", "You are signed out.");
  await listed(stack, `/runs?session=${id}&status=failed`);
  // A goal that is over starts no further turn.
  await stack.api("POST", `/goals/${id}/cancel`);
  await settled(stack, id);
  const talk = await stack.api<Named>("POST", "/sessions", { agent: "claude", title: "A talk that fails" });
  await stack.api("POST", `/sessions/${talk.id}/messages`, { text: "You are signed out." });
  await settled(stack, talk.id);
  await signIn(page);
  await page.goto("/");
  const needs = page.getByRole("region", { name: "Needs you" }).getByRole("listitem");
  const failed = needs.filter({ hasText: /A guide that fails failed/ });
  await expect(failed.getByRole("link", { name: "Open goal" })).toHaveAttribute("href", `/goals/${id}`);
  await expect(failed.getByRole("button", { name: "Retry" })).toHaveCount(0);
  await expect(
    needs.filter({ hasText: /A talk that fails/ }).getByRole("button", { name: "Retry" }),
  ).toBeVisible();
  // The number of the ledger leaves them out.
  await page.goto("/runs?status=failed");
  await page.getByRole("button", { name: "Retry 1", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Retry 1 run?" });
  await dialog.getByRole("button", { name: "Retry 1 run" }).click();
  await expect(page.getByText("1 run queued again", { exact: true })).toBeVisible();
  const row = page.getByRole("list", { name: "Runs" }).getByRole("listitem");
  await row
    .filter({ hasText: "A guide that fails" })
    .first()
    .getByRole("button", { name: /^Actions of/ })
    .click();
  await expect(page.getByRole("menuitem", { name: "Retry" })).toHaveCount(0);
  await page.getByRole("menuitem", { name: "Open goal" }).click();
  await expect(page).toHaveURL(new RegExp(`/goals/${id}$`));
  await page.goBack();
  await row.filter({ hasText: "A guide that fails" }).first().getByRole("link").click();
  await expect(page.getByRole("link", { name: "Open goal" })).toHaveAttribute("href", `/goals/${id}`);
  await expect(page.getByRole("button", { name: "Retry" })).toHaveCount(0);
  await page.getByRole("link", { name: "a task of a goal" }).click();
  await expect(page).toHaveURL(new RegExp(`/goals/${id}$`));
});
