/** The conversation of a goal while seats of the demonstration team have their turns. */
import type { Page } from "@playwright/test";
import { composer, expect, test } from "./fixtures";
import { call, fireNew, type Stack } from "./stack";

test.use({ stackName: "goal-conversation" });

const TEXT = "Write a short guide to tea: green, black and herbal.";
const DONE_MS = 90_000;
/** The pauses of the demonstration agent. With the long one, no turn ends during a test unless it is stopped. */
const SHORT_MS = 2;
const LONG_MS = 10_000;

interface Agent {
  name: string;
  config: { command: string[] };
}
interface View {
  state: string;
  open_runs: { origin: string }[];
}

const start = (stack: Stack, title: string, more: object = {}) =>
  stack.api<{ id: string }>("POST", "/goals", { goal: TEXT, team: "demo", title, ...more });

/** Sets the pauses of the turns that begin from now on. */
async function setPace(stack: Stack, milliseconds: number): Promise<void> {
  const { items } = await stack.api<{ items: Agent[] }>("GET", "/agents");
  const command = items.find(({ name }) => name === "demo")?.config.command ?? [];
  await stack.api("PUT", "/agents/demo", { command: [...command.slice(0, -1), `${milliseconds}`] });
}

const view = (stack: Stack, id: string) => stack.api<View>("GET", `/sessions/${id}`);
const stateOfGoal = async (stack: Stack, id: string) =>
  (await stack.api<{ state: string }>("GET", `/goals/${id}`)).state;
const reached = (stack: Stack, id: string, state: string) =>
  expect.poll(() => stateOfGoal(stack, id), { timeout: DONE_MS }).toBe(state);

const head = (page: Page) => page.getByRole("main").locator("header").first();
const move = (page: Page, name: string) => head(page).getByRole("button", { name, exact: true });
const stateIs = (page: Page, word: string) =>
  expect(head(page).getByText(word, { exact: true })).toBeVisible();
const seat = (page: Page) => page.getByRole("combobox", { name: "Seat" });
const stop = (page: Page) => page.getByRole("button", { name: "Stop", exact: true });

test("head_and_key_move_the_goal_and_not_its_session", async ({ page, stack, signIn }) => {
  await setPace(stack, LONG_MS);
  const { id } = await start(stack, "A guide to pause");
  const isPaused = async () => {
    await stateIs(page, "paused");
    await expect(move(page, "Resume")).toBeVisible();
    expect([await stateOfGoal(stack, id), (await view(stack, id)).state]).toEqual(["paused", "active"]);
  };
  await signIn(page);
  await page.goto(`/conversations/${id}`);
  await stateIs(page, "planning");
  await move(page, "Pause").click();
  await isPaused();
  await page.getByRole("button", { name: "Undo" }).click();
  await stateIs(page, "planning");
  await composer(page).press("Escape");
  const moves: string[] = [];
  page.on("request", (request) => request.method() === "POST" && moves.push(request.url()));
  // A key that is held down repeats itself.
  for (let count = 0; count < 5; count += 1) await page.keyboard.down("p");
  await page.keyboard.up("p");
  await isPaused();
  expect(moves).toHaveLength(1);
  await page.keyboard.press("p");
  await stateIs(page, "planning");
  expect(await stateOfGoal(stack, id)).toBe("active");
  await stack.api("POST", `/goals/${id}/cancel`);
});

test("plan_is_approved_by_the_button_and_by_no_key", async ({ page, stack, signIn }) => {
  await setPace(stack, SHORT_MS);
  const { id } = await start(stack, "A guide to approve", { approve_plan: true });
  await signIn(page);
  await page.goto(`/conversations/${id}`);
  await expect(move(page, "Approve the plan")).toBeVisible({ timeout: DONE_MS });
  await stateIs(page, "its plan waits for you");
  await composer(page).press("Escape");
  const moved = page.waitForRequest(/\/resume$/);
  await page.keyboard.press("p");
  await setPace(stack, LONG_MS);
  expect(await stateOfGoal(stack, id)).toBe("paused");
  await move(page, "Approve the plan").click();
  expect((await moved).url()).toContain(`/goals/${id}/resume`);
  await stateIs(page, "working");
  await stack.api("POST", `/goals/${id}/cancel`);
});

test("seats_at_work_wait_no_longer_and_are_stopped_one_by_one", async ({ page, stack, signIn }) => {
  await setPace(stack, SHORT_MS);
  const { id } = await start(stack, "A guide of two seats", { approve_plan: true });
  await reached(stack, id, "paused");
  await setPace(stack, LONG_MS);
  await stack.api("POST", `/goals/${id}/resume`);
  await signIn(page);
  await page.goto(`/conversations/${id}`);
  await stateIs(page, "working");
  const waiting = page.getByRole("list", { name: "Waiting inputs" }).getByRole("listitem");
  await expect(waiting).toHaveCount(0);

  await seat(page).selectOption("worker-2");
  await expect(stop(page)).toHaveCount(0);
  await composer(page).fill("Are you there?");
  await composer(page).press("Enter");
  await expect(stop(page)).toBeVisible();
  await expect(waiting).toHaveCount(0);
  await expect(composer(page)).toHaveAttribute(
    "placeholder",
    "Message worker-2. It is read when this turn ends.",
  );
  await seat(page).selectOption("planner");
  await expect(stop(page)).toHaveCount(0);
  await expect(composer(page)).toHaveAttribute("placeholder", "Message planner");
  await seat(page).selectOption("worker-1");
  await expect(stop(page)).toBeVisible();
  await seat(page).selectOption("worker-2");
  await stop(page).click();
  // The turn of the task goes on.
  await expect
    .poll(async () => (await view(stack, id)).open_runs.map(({ origin }) => origin))
    .toEqual(["task"]);
  await expect(stop(page)).toHaveCount(0);
  await stack.api("POST", `/goals/${id}/cancel`);
});

test("completion_and_deletion_name_the_goal_that_they_end", async ({ page, stack, signIn }) => {
  await setPace(stack, LONG_MS);
  const { id } = await start(stack, "A guide to give up");
  await signIn(page);
  await page.goto(`/conversations/${id}`);
  await expect(stop(page)).toBeVisible();
  const choose = async (name: string) => {
    await page.getByRole("button", { name: "Conversation menu" }).click();
    await page.getByRole("menuitem", { name, exact: true }).click();
  };
  const dialog = page.getByRole("dialog");
  await composer(page).fill("One more thing.");
  await choose("Complete");
  await expect(dialog).toContainText("It cancels the goal “A guide to give up”");
  await expect(dialog).toContainText("its running turns are asked to stop");
  await dialog.getByRole("button", { name: "Complete" }).click();
  await stateIs(page, "cancelled");
  expect(await stateOfGoal(stack, id)).toBe("failed");
  await expect.poll(async () => (await view(stack, id)).open_runs).toEqual([]);
  await expect(page.getByText("Your message was not sent.")).toBeVisible();
  await expect(page.getByText("One more thing.")).toBeVisible();
  await choose("Delete");
  await expect(dialog).toContainText("so does the goal “A guide to give up”");
  await dialog.getByRole("button", { name: "Delete conversation and goal" }).click();
  await expect(page).toHaveURL(/\/conversations$/);
  await expect(stateOfGoal(stack, id)).rejects.toThrow("404");
});

test("question_of_a_seat_is_answered_on_the_composer", async ({ page, stack, signIn }) => {
  test.setTimeout(240_000);
  await setPace(stack, SHORT_MS);
  const { id } = await start(stack, "A guide with a reader", {
    goal: `${TEXT} Ask me who shall read it.`,
  });
  await signIn(page);
  await page.goto(`/conversations/${id}`);
  const question = page.getByRole("region", { name: /^Question of worker-/ });
  await expect(question).toContainText("Who shall read it?", { timeout: DONE_MS });
  await stateIs(page, "waits for you");
  const { items } = await stack.api<{ items: { id: string }[] }>("GET", `/questions?session=${id}`);
  await question
    .getByRole("button", { name: "beginners" })
    .and(page.locator('[aria-disabled="false"]'))
    .click();
  await expect(question).toHaveCount(0);
  const answered = await stack.api<{ answer: string }>("GET", `/questions/${items[0]?.id}`);
  expect(answered.answer).toBe("beginners");
  await stack.api("POST", `/goals/${id}/cancel`);
});

test("questions_of_a_conversation_stand_one_after_the_other", async ({ page, stack, signIn }) => {
  const { id } = await start(stack, "A guide with two questions", { draft: true });
  for (const name of ["readers", "writers"]) {
    const asks = { question: `Who are the ${name}?`, options: ["None"], default: "None" };
    await fireNew(stack, name, call("ask_person", asks));
  }
  // Those of other sessions, because a goal takes long until it asks.
  const ask = async () => {
    const page = await stack.api<{ items: object[] }>("GET", "/questions");
    return { ...page, items: page.items.map((each) => ({ ...each, session_id: id })) };
  };
  await page.route(/\/questions\?session=/, async (route) => route.fulfill({ json: await ask() }));
  await signIn(page);
  await page.goto(`/conversations/${id}`);
  const dock = page.getByRole("region", { name: "Question of demo" });
  await expect(dock).toContainText("Who are the readers?");
  await expect(dock).toContainText("1 of 2");
  await dock.getByRole("button", { name: "Next request" }).click();
  await expect(dock).toContainText("Who are the writers?");
  await expect(dock).toContainText("2 of 2");
  await dock.getByRole("textbox").fill("My aunt");
  await dock.getByRole("button", { name: "Answer", exact: true }).click();
  await expect(dock).toContainText("Who are the readers?");
  await expect(dock).not.toContainText("of 2");
  // One that another person answers keeps what was typed here.
  await dock.getByRole("textbox").fill("My uncle");
  const { items } = await stack.api<{ items: { id: string }[] }>("GET", "/questions");
  await stack.api("POST", `/questions/${items[0]?.id}/answer`, { text: "Everybody" });
  await expect(dock).toContainText(/answered at .*: Everybody/);
  await expect(dock).toContainText("Your answer was not sent: “My uncle”");
  await dock.getByRole("button", { name: "Close" }).click();
  await expect(dock).toHaveCount(0);
  await page.unrouteAll({ behavior: "ignoreErrors" });
});
