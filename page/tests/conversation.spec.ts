import { composer, expect, test, transcript } from "./fixtures";
import { converse, seedPictures } from "./stack";

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
  await expect(page.getByText("That message waits no longer.")).toBeVisible();
  await expect(composer(page)).toHaveValue("A third thought.");
});
