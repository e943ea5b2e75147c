import type { Page } from "@playwright/test";
import { expect, holdBack, test } from "./fixtures";
import { call, fireNew, type Stack, settled } from "./stack";

interface Run {
  id: string;
  session_id: string;
}

async function automation(stack: Stack, name: string, prompt: string, seconds = 480): Promise<void> {
  await stack.api("POST", "/automations", {
    name,
    prompt,
    agent: "claude",
    session: "fresh",
    policies: { on_unmatched: "ask", ask_seconds: seconds },
  });
}

async function fire(stack: Stack, name: string): Promise<Run> {
  const run = await stack.api<Run>("POST", `/automations/${name}/fire`);
  await settled(stack, run.session_id);
  return run;
}

const answer = async (stack: Stack, run: Run) => {
  await settled(stack, run.session_id);
  return (await stack.api<{ answer: string }>("GET", `/runs/${run.id}`)).answer;
};

test.use({ stackName: "approvals" });

test("empty_inbox_says_so", async ({ page, signIn }) => {
  await signIn(page);
  await page.goto("/approvals");
  await expect(page.getByText("Nothing waits for you.")).toBeVisible();
});

test("request_is_denied_with_a_comment", async ({ page, stack, signIn }) => {
  await automation(stack, "release", "This asks to push.");
  const run = await fire(stack, "release");
  await signIn(page);
  await page.goto("/runs");
  await expect(page.getByRole("list", { name: "Runs" })).toContainText("waits for you");
  await page
    .getByRole("navigation", { name: "Main" })
    .getByRole("link", { name: /Approvals/ })
    .click();
  const request = page.getByRole("region", { name: "Request" }).last();
  await expect(request.getByRole("heading", { level: 2 })).toHaveText("release asks for permission");
  await expect(request.getByRole("row")).toContainText("git push origin main");
  await request.getByLabel(/^Comment/).fill("Not today.");
  await request.getByRole("button", { name: "Deny" }).and(page.locator('[aria-disabled="false"]')).click();
  await expect(page.getByText("Nothing waits for you.")).toBeVisible();
  expect(await answer(stack, run)).toBe("I did not push the branch.");
  await page.getByRole("button", { name: "Decided" }).click();
  await page.getByRole("link", { name: /^denied release/ }).click();
  await expect(page.getByText("“Not today.”")).toBeVisible();
});

test("always_allow_adds_one_rule_and_asks_no_more", async ({ page, stack, signIn }) => {
  await automation(stack, "publish", "This asks to push.");
  const run = await fire(stack, "publish");
  await signIn(page);
  await page.goto("/approvals");
  await page
    .getByRole("button", { name: "Always allow…" })
    .and(page.locator('[aria-disabled="false"]'))
    .click();
  const dialog = page.getByRole("dialog", { name: "Always allow this?" });
  await expect(dialog).toContainText("+ allow execute:git push origin main");
  await dialog.getByRole("button", { name: "Add the rule and allow" }).click();
  await expect(dialog).toHaveCount(0);
  expect(await answer(stack, run)).toBe("The branch is out.");
  const { permissions } = await stack.api<{ permissions: object[] }>("GET", "/automations/publish");
  expect(permissions).toEqual([{ tool: "execute", title: "git push origin main", verdict: "allow" }]);
  const next = await fire(stack, "publish");
  expect(await answer(stack, next)).toBe("The branch is out.");
});

test("long_input_is_whole_before_it_is_allowed", async ({ page, stack, signIn }) => {
  await automation(stack, "notes", "It writes much.");
  const run = await fire(stack, "notes");
  await signIn(page);
  await page.goto("/approvals");
  await expect(page.getByRole("row", { name: /^content/ })).toContainText("END");
  // The whole input is there, so it needs no tick.
  await page.getByRole("button", { name: "Allow once" }).and(page.locator('[aria-disabled="false"]')).click();
  await expect(page.getByText("Nothing waits for you.")).toBeVisible();
  expect(await answer(stack, run)).toBe("The notes are written.");
});

test("decision_elsewhere_stays_visible", async ({ page, stack, signIn }) => {
  await automation(stack, "letters", "It writes much.");
  const run = await fire(stack, "letters");
  const { items } = await stack.api<{ items: { id: string }[] }>("GET", `/approvals?run=${run.id}`);
  await signIn(page);
  await page.goto(`/approvals/${items[0]?.id}`);
  await expect(page.getByRole("button", { name: "Deny" })).toBeVisible();
  await stack.command("approval", "allow", `${items[0]?.id}`);
  await expect(page.getByText(/^A person at the server allowed this/)).toBeVisible();
  await expect(page.getByRole("button", { name: "Deny" })).toHaveCount(0);
  expect(await answer(stack, run)).toBe("The notes are written.");
});

test("request_expires_and_says_so", async ({ page, stack, signIn }) => {
  await automation(stack, "hasty", "This asks to push.", 2);
  await signIn(page);
  const run = await stack.api<Run>("POST", "/automations/hasty/fire");
  await settled(stack, run.session_id);
  const { items } = await stack.api<{ items: { id: string }[] }>("GET", `/approvals?run=${run.id}&state=any`);
  await page.goto(`/approvals/${items[0]?.id}`);
  await expect(page.getByText(/because nobody answered in time/)).toBeVisible();
});

test("viewer_sees_requests_and_decides_none", async ({ page, stack, signIn }) => {
  await automation(stack, "diary", "It writes much.");
  await fire(stack, "diary");
  await signIn(page, "viewer");
  await page.goto("/approvals");
  const deny = page.getByRole("button", { name: "Deny" });
  await expect(deny).toBeDisabled();
  await expect(deny).toHaveAttribute("title", /approvals:write/);
});

for (const [button, said] of [
  ["Answer", "I take green."],
  ["Decline", "I take none."],
] as const) {
  test(`form_reaches_its_agent_by_${button.toLowerCase()}`, async ({ page, stack, signIn }) => {
    await automation(stack, `form-${button.toLowerCase()}`, "This asks by a form.");
    const run = await stack.api<Run>("POST", `/automations/form-${button.toLowerCase()}/fire`);
    await signIn(page);
    await page.goto(`/runs/${run.id}`);
    await expect(page.getByText("For a person, who answers the question of the agent.")).toBeVisible();
    await page.goto("/approvals");
    await page.getByRole("link", { name: /Which server\?/ }).click();
    await expect(page.getByLabel("Server")).toHaveValue("green");
    await page.getByRole("button", { name: button, exact: true }).click();
    await expect(page.getByText(/ (answered|declined to answer) at /)).toBeVisible();
    expect(await answer(stack, run)).toBe(said);
  });
}

test("open_request_stays_when_an_earlier_one_comes", async ({ page, stack, signIn }) => {
  const waiting = await stack.api<{ items: { id: string }[] }>("GET", "/approvals");
  for (const { id } of waiting.items) await stack.api("POST", `/approvals/${id}/deny`);
  await automation(stack, "later", "This asks to push.", 900);
  await automation(stack, "earlier", "This asks to push.", 700);
  const later = await fire(stack, "later");
  await signIn(page);
  await page.goto("/approvals");
  const request = page.getByRole("region", { name: "Request" }).last();
  const heading = request.getByRole("heading", { level: 2 });
  await expect(heading).toHaveText("later asks for permission");
  await request.getByLabel(/^Comment/).fill("Half a comment");
  const earlier = await fire(stack, "earlier");
  const rows = page.getByRole("region", { name: "Requests" }).getByRole("listitem");
  await expect(rows.first()).toContainText("earlier");
  await expect(rows.filter({ has: page.locator('[aria-current="true"]') })).toContainText("later");
  await expect(heading).toHaveText("later asks for permission");
  await expect(request.getByLabel(/^Comment/)).toHaveValue("Half a comment");
  // A decision of another person is said, and a decision here leads to the next request.
  const { items } = await stack.api<{ items: { id: string }[] }>("GET", `/approvals?run=${later.id}`);
  await stack.command("approval", "allow", `${items[0]?.id}`);
  await expect(page.getByText(/^A person at the server allowed this/)).toBeVisible();
  await page.goto("/approvals");
  await expect(heading).toHaveText("earlier asks for permission");
  await request.getByRole("button", { name: "Deny" }).and(page.locator('[aria-disabled="false"]')).click();
  await expect(page.getByText("Nothing waits for you.")).toBeVisible();
  await expect(heading).toHaveCount(0);
  expect(await answer(stack, earlier)).toBe("I did not push the branch.");
});

/** Lets an agent ask a question with an option, and opens it. Returns the question. */
async function openQuestion(page: Page, stack: Stack, name: string): Promise<string> {
  const prompt = call("ask_person", { question: `Which ${name}?`, options: ["None"], default: "None" });
  const { id } = await fireNew(stack, name, prompt);
  const { items } = await stack.api<{ items: { id: string; run_id: string }[] }>("GET", "/questions");
  const question = items.find((each) => each.run_id === id)?.id ?? "";
  await page.goto(`/approvals/${question}`);
  return question;
}

test("typed_answer_is_accepted_while_the_buttons_take_no_click", async ({ page, stack, signIn }) => {
  await signIn(page);
  await page.goto("/approvals");
  // The time in which buttons take no click does not end.
  await page.clock.install();
  await openQuestion(page, stack, "colour");
  const question = page.getByRole("region", { name: "Question" });
  await expect(question).toBeVisible();
  await page.clock.pauseAt(Date.now() + 60_000);
  await page.getByRole("link", { name: "Overview" }).click();
  await page.goBack();
  await expect(question.getByRole("button", { name: "None" })).toHaveAttribute("aria-disabled", "true");
  await question.getByLabel("Another answer").fill("Blue");
  await question.getByLabel("Another answer").press("Enter");
  // No timer of the page fires while the clock stands.
  await page.clock.resume();
  await expect(question).toContainText("answered at");
  await expect(question).toContainText("Blue");
});

test("answer_that_came_too_late_is_shown", async ({ page, stack, signIn }) => {
  await signIn(page);
  const id = await openQuestion(page, stack, "shape");
  const question = page.getByRole("region", { name: "Question" });
  const field = question.getByLabel("Another answer");
  await field.fill("A square, with");
  const held = await holdBack(page, "POST", /\/answer$/);
  await field.press("Enter");
  await held.sent;
  await stack.api("POST", `/questions/${id}/answer`, { option: 1 });
  await expect(question).toContainText(/answered at .*: None/);
  held.release();
  await expect(question).toContainText("Your answer was not sent: “A square, with”");
});

test("list_of_automations_marks_the_one_that_waits", async ({ page, stack, signIn }) => {
  await automation(stack, "patient", "This asks to push.");
  const run = await fire(stack, "patient");
  await signIn(page);
  await page.goto("/automations");
  const row = page.getByRole("list", { name: "Automations" }).getByRole("link", { name: /patient/ });
  await expect(row.getByRole("img", { name: "waits for you" })).toBeVisible();
  await expect(row).toContainText("waits for you");
  const { items } = await stack.api<{ items: { id: string }[] }>("GET", `/approvals?run=${run.id}`);
  await stack.api("POST", `/approvals/${items[0]?.id}/deny`, {});
  await expect(row.getByRole("img", { name: "succeeded", exact: true })).toBeVisible();
  await expect(row).not.toContainText("waits for you");
});
