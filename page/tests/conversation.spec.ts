import { composer, expect, holdBack, test, transcript } from "./fixtures";
import { converse, fire, type Stack, seedPictures } from "./stack";

/** Sends messages that wait, because the conversation is paused. Returns their runs. */
async function queue(stack: Stack, session: string, ...texts: string[]): Promise<string[]> {
  await stack.api("POST", `/sessions/${session}/pause`);
  const ids: string[] = [];
  for (const text of texts) {
    ids.push((await stack.api<{ id: string }>("POST", `/sessions/${session}/messages`, { text })).id);
  }
  return ids;
}

test("message_is_sent_by_enter_and_answered", async ({ page, stack, signIn }) => {
  const id = await converse(stack, "Answer");
  await signIn(page);
  await page.goto(`/conversations/${id}`);
  await composer(page).fill("Keep it short.");
  await composer(page).press("Enter");
  await expect(transcript(page).getByText("Keep it short.")).toHaveCount(1);
  await expect(transcript(page).getByText("Done: one line, under “Fixed”.")).toHaveCount(1);
  await expect(composer(page)).toHaveValue("");
});

test("text_typed_while_a_message_is_sent_is_the_next_message", async ({ page, stack, signIn }) => {
  const id = await converse(stack, "Two in a row");
  await signIn(page);
  await page.goto(`/conversations/${id}`);
  const held = await holdBack(page, "POST", /\/messages$/);
  await composer(page).fill("The first one.");
  await composer(page).press("Enter");
  await held.sent;
  await expect(composer(page)).toHaveValue("");
  await composer(page).pressSequentially("The second one.");
  held.release();
  await expect(transcript(page).getByText("The first one.")).toHaveCount(1);
  await expect(composer(page)).toHaveValue("The second one.");
  await composer(page).press("Enter");
  await expect(transcript(page).getByText("The second one.")).toHaveCount(1);
  await expect(composer(page)).toHaveValue("");
});

test("message_that_is_not_sent_comes_back_before_what_was_typed", async ({ page, stack, signIn }) => {
  const id = await converse(stack, "No connection");
  await signIn(page);
  await page.goto(`/conversations/${id}`);
  const held = await holdBack(page, "POST", /\/messages$/);
  await composer(page).fill("The first one.");
  await composer(page).press("Enter");
  await held.sent;
  await composer(page).pressSequentially("The second one.");
  held.release("abort");
  await expect(composer(page)).toHaveValue("The first one.\n\nThe second one.");
  await expect(page.getByRole("alert")).toContainText("cannot be reached");
  await page.reload();
  await expect(composer(page)).toHaveValue("The first one.\n\nThe second one.");
});

test("message_whose_response_is_lost_arrives_once_when_it_is_sent_again", async ({ page, stack, signIn }) => {
  const id = await converse(stack, "Lost response");
  await signIn(page);
  await page.goto(`/conversations/${id}`);
  const menu = page.getByRole("navigation", { name: "Main" });
  const text = "Write this once.";
  const first = await holdBack(page, "POST", /\/messages$/);
  await composer(page).fill(text);
  await composer(page).press("Enter");
  await first.sent;
  // The person leaves the view before the response is lost, and comes back.
  await menu.getByRole("link", { name: "Runs" }).click();
  first.release("lose");
  await expect(page.getByText(/^Not sent: /)).toBeVisible();
  await page.goBack();
  await expect(composer(page)).toHaveValue(text);
  const second = await holdBack(page, "POST", /\/messages$/);
  await composer(page).press("Enter");
  await second.sent;
  second.release("lose");
  await expect(page.getByRole("alert")).toContainText("cannot be reached");
  await page.reload();
  await expect(composer(page)).toHaveValue(text);
  const answered = page.waitForResponse(
    (response) => response.request().method() === "POST" && response.url().endsWith("/messages"),
  );
  await composer(page).press("Enter");
  expect((await answered).ok()).toBe(true);
  await expect(page.getByText("This message was sent before.")).toBeVisible();
  await expect(composer(page)).toHaveValue("");
  const { items } = await stack.api<{ items: { content: string }[] }>("GET", `/runs?session=${id}`);
  expect(items.filter(({ content }) => content === text)).toHaveLength(1);
});

test("text_typed_while_a_conversation_begins_is_its_next_message", async ({ page, signIn }) => {
  await signIn(page);
  await page.goto("/conversations?new=1&agent=claude");
  const held = await holdBack(page, "POST", /\/messages$/);
  await composer(page).fill("Begin.");
  await composer(page).press("Enter");
  await held.sent;
  await composer(page).pressSequentially("Then go on.");
  held.release();
  await expect(transcript(page).getByText("Begin.")).toHaveCount(1);
  await expect(composer(page)).toHaveValue("Then go on.");
});

test("hostile_answer_stays_text", async ({ page, stack, signIn }) => {
  const id = await converse(stack, "Hostile", "Be hostile.");
  await signIn(page);
  await page.goto(`/conversations/${id}`);
  const log = transcript(page);
  await expect(log.getByText("[image: tracker] tracker.example")).toBeVisible();
  await expect(log.locator("img, script, style, iframe")).toHaveCount(0);
  await expect(log.locator('a[href^="javascript:"], a[href^="data:"]')).toHaveCount(0);
  const link = log.getByRole("link", { name: /a page/ });
  await expect(link).toHaveAttribute("rel", /noopener/);
  await expect(link).toHaveAttribute("rel", /noreferrer/);
  await expect(log.getByText("example.com").first()).toBeVisible();
  // A text that looks like another address does not hide where the link goes.
  await expect(log.getByRole("link", { name: /bank\.example.* evil\.example$/ })).toBeVisible();
  await expect(log.getByText('<img src=x onerror="document.title=')).toBeVisible();
  expect(await page.title()).not.toBe("pwned");
});

test("pause_is_undone", async ({ page, stack, signIn }) => {
  const id = await converse(stack, "A break", "Hello.");
  await signIn(page);
  await page.goto(`/conversations/${id}`);
  await page.getByRole("button", { name: "Pause", exact: true }).first().click();
  await expect(page.getByRole("button", { name: "Resume", exact: true }).first()).toBeVisible();
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(page.getByRole("button", { name: "Pause", exact: true }).first()).toBeVisible();
  expect((await stack.api<{ state: string }>("GET", `/sessions/${id}`)).state).toBe("active");
});

test("draft_survives_a_reload", async ({ page, stack, signIn }) => {
  const id = await converse(stack, "Reload");
  await signIn(page);
  await page.goto(`/conversations/${id}`);
  await composer(page).fill("Half a sentence");
  await page.reload();
  await expect(composer(page)).toHaveValue("Half a sentence");
});

test("code_is_coloured_by_classes_alone", async ({ page, stack, signIn }) => {
  const id = await converse(stack, "Code", "Show me the code.");
  await signIn(page);
  await page.goto(`/conversations/${id}`);
  const log = transcript(page);
  await expect(log.locator(".hljs-keyword").first()).toHaveText("fn");
  await expect(log.locator("code [style], pre [style]")).toHaveCount(0);
});

test("approval_that_is_decided_elsewhere_says_by_whom", async ({ page, stack, signIn }) => {
  const id = await seedPictures(stack, "-again");
  await signIn(page);
  await page.goto(`/conversations/${id}`);
  await expect(page.getByRole("button", { name: "Allow once" })).toBeVisible();
  const { items } = await stack.api<{ items: { id: string }[] }>("GET", `/approvals?session=${id}`);
  await stack.api("POST", `/approvals/${items[0]?.id}/deny`);
  const dock = page.getByRole("status", { name: "Permission request" });
  await expect(dock.getByText(/denied this at/)).toBeVisible();
  await expect(page.getByRole("button", { name: "Allow once" })).toBeHidden();
  await dock.getByRole("button", { name: "Close" }).click();
  await expect(dock).toBeHidden();
});

test("approval_that_is_decided_elsewhere_during_a_click_says_by_whom", async ({ page, stack, signIn }) => {
  const id = await converse(stack, "A click");
  await stack.api("POST", "/automations", {
    name: "push",
    prompt: "This asks to push.",
    session: `bound:${id}`,
    policies: { on_unmatched: "ask", ask_seconds: 480 },
  });
  await fire(stack, "push");
  await signIn(page);
  await page.goto(`/conversations/${id}`);
  const held = await holdBack(page, "POST", /\/allow$/);
  const { items } = await stack.api<{ items: { id: string }[] }>("GET", `/approvals?session=${id}`);
  await page.getByRole("button", { name: "Allow once" }).and(page.locator('[aria-disabled="false"]')).click();
  await held.sent;
  const link = page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: /^Approvals/ });
  const count = (await link.textContent()) ?? "";
  await stack.api("POST", `/approvals/${items[0]?.id}/deny`);
  // The page has read the list again.
  await expect(link).not.toHaveText(count);
  held.release();
  await expect(page.getByRole("status", { name: "Permission request" })).toContainText(/denied this at/);
});

test("waiting_input_is_edited_in_its_place", async ({ page, stack, signIn }) => {
  const id = await converse(stack, "Edit");
  await stack.api("POST", `/sessions/${id}/messages`, { text: "Write slowly." });
  await stack.api("POST", `/sessions/${id}/messages`, { text: "A second thougt." });
  await signIn(page);
  await page.goto(`/conversations/${id}`);
  await page.getByRole("button", { name: "Edit this input" }).click();
  const field = page.getByRole("textbox", { name: "Waiting message" });
  await expect(field).toHaveValue("A second thougt.");
  await field.fill("A second thought.");
  await field.press("Enter");
  const waiting = page.getByRole("list", { name: "Waiting inputs" });
  await expect(waiting.getByText("A second thought.")).toBeVisible();
  await expect(field).toBeHidden();
  // The turn before it ends while the person is typing.
  await page.getByRole("button", { name: "Edit this input" }).click();
  await field.fill("A third thought.");
  await stack.api("POST", `/sessions/${id}/cancel`);
  await expect(field).toBeHidden();
  await expect(page.getByText("Your change of the waiting message was not saved.")).toBeVisible();
  await expect(composer(page)).toHaveValue("A third thought.");
});

test("edit_of_a_waiting_message_overwrites_no_edit_of_another_person", async ({ page, stack, signIn }) => {
  const id = await converse(stack, "Two editors");
  const [run, other] = await queue(stack, id, "The text.", "Another message.");
  await signIn(page);
  await page.goto(`/conversations/${id}`);
  const waiting = page.getByRole("list", { name: "Waiting inputs" });
  await waiting.getByRole("button", { name: "Edit this input" }).first().click();
  const field = page.getByRole("textbox", { name: "Waiting message" });
  await field.fill("My text.");
  await stack.api("PATCH", `/runs/${run}`, { content: "Their text." });
  await stack.api("PATCH", `/runs/${other}`, { content: "The page has read the messages again." });
  await expect(waiting.getByText("The page has read the messages again.")).toBeVisible();
  await field.press("Enter");
  await expect(waiting.getByRole("alert")).toContainText("changed this message to: “Their text.”");
  await expect(field).toHaveValue("My text.");
  expect((await stack.api<{ content: string }>("GET", `/runs/${run}`)).content).toBe("Their text.");
  // The person knows both texts now.
  await field.press("Enter");
  await expect(field).toBeHidden();
  expect((await stack.api<{ content: string }>("GET", `/runs/${run}`)).content).toBe("My text.");
});

test("edit_begins_with_the_first_key_and_knows_a_text_that_it_replaces", async ({ page, stack, signIn }) => {
  const id = await converse(stack, "Early keys");
  const [run] = await queue(stack, id, "The text.");
  await signIn(page);
  await page.goto(`/conversations/${id}`);
  const held = await holdBack(page, "GET", new RegExp(`/runs/${run}$`));
  await page.getByRole("button", { name: "Edit this input" }).click();
  await held.sent;
  await page.keyboard.press("End");
  await page.keyboard.type(" And mine.");
  const field = page.getByRole("textbox", { name: "Waiting message" });
  await expect(field).toHaveValue("The text. And mine.");
  await stack.api("PATCH", `/runs/${run}`, { content: "Their text." });
  held.release();
  await expect(page.getByRole("alert")).toContainText("changed this message to: “Their text.”");
  await expect(field).toHaveValue("The text. And mine.");
});

test("edit_of_a_waiting_message_joins_the_draft_when_the_conversation_is_left", async ({
  page,
  stack,
  signIn,
}) => {
  const id = await converse(stack, "Left");
  await queue(stack, id, "The text.");
  await signIn(page);
  await page.goto(`/conversations/${id}`);
  await composer(page).fill("A draft.");
  await page.getByRole("button", { name: "Edit this input" }).click();
  await page.getByRole("textbox", { name: "Waiting message" }).fill("An edit.");
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Runs" }).click();
  await expect(page.getByRole("heading", { name: "Runs" })).toBeVisible();
  await page.goBack();
  await expect(composer(page)).toHaveValue("A draft.\n\nAn edit.");
});

test("title_being_edited_stays_when_another_person_renames", async ({ page, stack, signIn }) => {
  const id = await converse(stack, "Mine at first");
  await signIn(page);
  await page.goto(`/conversations/${id}`);
  await page.getByRole("button", { name: "Mine at first" }).click();
  const field = page.getByRole("textbox", { name: "Title" });
  await expect(field).toHaveValue("Mine at first");
  await field.fill("Mine");
  await stack.api("PATCH", `/sessions/${id}`, { title: "Theirs" });
  await expect(page).toHaveTitle(/Theirs/);
  await expect(field).toBeFocused();
  await expect(field).toHaveValue("Mine");
  await field.press("Enter");
  const dialog = page.getByRole("dialog", { name: "The title has changed meanwhile" });
  await expect(dialog.getByText("Theirs", { exact: true }).last()).toBeVisible();
  await stack.api("PATCH", `/sessions/${id}`, { title: "Theirs again" });
  await expect(page).toHaveTitle(/Theirs again/);
  await expect(dialog).toBeVisible();
  await dialog.getByRole("button", { name: "Use mine" }).click();
  await expect(dialog.getByText("Theirs again")).toBeVisible();
  await dialog.getByRole("button", { name: "Use mine" }).click();
  await expect(page.getByRole("heading", { name: "Mine", exact: true })).toBeVisible();
  expect((await stack.api<{ title: string }>("GET", `/sessions/${id}`)).title).toBe("Mine");
});
