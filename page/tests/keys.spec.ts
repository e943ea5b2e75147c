import { composer, expect, holdBack, test } from "./fixtures";
import { converse, say } from "./stack";

test("palette_goes_to_a_conversation", async ({ page, stack, signIn }) => {
  const id = await converse(stack, "Spring newsletter", "Hello.");
  await signIn(page);
  await page.goto("/conversations");
  await expect(page.getByRole("navigation", { name: "Main" })).toBeVisible();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("newsletter");
  await expect(page.getByRole("option", { name: /Spring newsletter/ }).first()).toBeVisible();
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(new RegExp(`/conversations/${id}$`));
  await expect(page.getByRole("dialog")).toBeHidden();
});

test("keys_right_after_opening_of_palette_land_in_it", async ({ page, stack, signIn }) => {
  const id = await converse(stack, "Winter newsletter", "Hello.");
  await signIn(page);
  await page.goto(`/conversations/${id}`);
  await expect(composer(page)).toBeFocused();
  // All in one task of the page, so that no frame is between them.
  const typed = await page.evaluate(() => {
    const press = (key: string, ctrlKey = false) =>
      document.activeElement?.dispatchEvent(
        new KeyboardEvent("keydown", { key, ctrlKey, bubbles: true, cancelable: true }),
      );
    press("k", true);
    const field = document.activeElement as HTMLInputElement;
    document.execCommand("insertText", false, "settings");
    const text = field.value;
    press("Enter");
    return { role: field.getAttribute("role"), text };
  });
  expect(typed).toEqual({ role: "combobox", text: "settings" });
  await expect(page).toHaveURL(/\/settings/);
  await expect(page.getByRole("dialog")).toBeHidden();
});

test("conversation_that_loads_late_leaves_the_keys_to_the_palette", async ({ page, stack, signIn }) => {
  const id = await converse(stack, "Late newsletter", "Hello.");
  await signIn(page);
  const held = await holdBack(page, "GET", new RegExp(`/sessions/${id}$`));
  await page.goto(`/conversations/${id}`);
  await held.sent;
  await page.keyboard.press("Control+k");
  await page.keyboard.type("set");
  held.release();
  await expect(composer(page)).toBeVisible();
  await page.keyboard.type("tings");
  await expect(page.getByRole("combobox", { name: "Find or do" })).toHaveValue("settings");
  await expect(composer(page)).toHaveValue("");
});

test("palette_moves_through_rows_and_gives_the_focus_back", async ({ page, stack, signIn }) => {
  const id = await converse(stack, "Autumn newsletter", "Hello.");
  await stack.api("POST", "/automations", { name: "autumn-newsletter", prompt: "x", agent: "claude" });
  await signIn(page);
  await page.goto(`/conversations/${id}`);
  await expect(composer(page)).toBeFocused();
  await page.keyboard.press("Control+k");
  const rows = page.getByRole("dialog", { name: "Find or do" }).getByRole("option");
  await expect(rows.first()).toHaveAttribute("aria-selected", "true");
  // The choices come from three requests. Once the rows of each are there, the last row stays the last.
  await page.keyboard.type("autumn");
  await expect(rows.filter({ hasText: "Autumn newsletter" })).toBeVisible();
  await expect(rows.filter({ hasText: "Pause autumn-newsletter" })).toBeVisible();
  await expect(rows.first()).toHaveAttribute("aria-selected", "true");
  await page.keyboard.press("ArrowUp");
  await expect(rows.last()).toHaveAttribute("aria-selected", "true");
  await expect(rows.last()).toBeInViewport();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await expect(rows.nth(1)).toHaveAttribute("aria-selected", "true");
  const activeId = await rows.nth(1).getAttribute("id");
  const input = page.getByRole("combobox", { name: "Find or do" });
  await expect(input).toHaveAttribute("aria-activedescendant", activeId ?? "");
  await page.keyboard.press("Tab");
  await expect(input).toBeFocused();
  await input.fill("no such name");
  await expect(page.getByText("Nothing is called like this.")).toBeVisible();
  await page.keyboard.press("Enter");
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toBeHidden();
  await expect(composer(page)).toBeFocused();
});

test("palette_stays_closed_while_a_dialog_is_open", async ({ page, signIn }) => {
  await signIn(page);
  await page.goto("/runs");
  await expect(page.getByRole("heading", { name: "Runs" })).toBeVisible();
  await page.keyboard.press("?");
  const help = page.getByRole("dialog", { name: "Keys" });
  await expect(help).toBeVisible();
  await page.keyboard.press("Control+k");
  await expect(page.getByRole("dialog", { name: "Find or do" })).toBeHidden();
  await page.keyboard.press("Escape");
  await expect(help).toBeHidden();
  await page.keyboard.press("Control+k");
  await expect(page.getByRole("dialog", { name: "Find or do" })).toBeVisible();
  await page
    .getByRole("presentation")
    .first()
    .click({ position: { x: 5, y: 5 } });
  await expect(page.getByRole("dialog")).toBeHidden();
});

test("palette_begins_with_the_newest_and_finds_all", async ({ page, stack, signIn }) => {
  for (const title of ["Oldest of all", "Two", "Three", "Four", "Five", "Six"])
    await stack.api("POST", "/sessions", { agent: "claude", title });
  await signIn(page);
  await page.goto("/conversations");
  await expect(page.getByRole("link", { name: /Oldest of all/ }).first()).toBeVisible();
  await page.keyboard.press("Control+k");
  const conversations = page.getByRole("option", { name: /conversation$/ }).filter({ hasNotText: "New" });
  await expect(conversations).toHaveCount(5);
  await expect(conversations.filter({ hasText: "Oldest" })).toHaveCount(0);
  await page.keyboard.type("oldest");
  await expect(conversations.first()).toContainText("Oldest of all");
});

test("keys_are_off_in_text_fields", async ({ page, stack, signIn }) => {
  const id = await converse(stack, "Keys", "Hello.");
  await signIn(page);
  await page.goto(`/conversations/${id}`);
  await composer(page).fill("");
  await composer(page).pressSequentially("g?c");
  await expect(composer(page)).toHaveValue("g?c");
  await expect(page.getByRole("dialog")).toBeHidden();
  await composer(page).press("Escape");
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog")).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toBeHidden();
});

test("letters_in_an_open_menu_are_no_commands", async ({ page, stack, signIn }) => {
  const { id } = await stack.api<{ id: string }>("POST", "/goals", { goal: "x", team: "demo", draft: true });
  await signIn(page);
  await page.goto(`/goals/${id}`);
  await page.getByRole("button", { name: "Actions of the goal" }).click();
  await page.keyboard.press("e");
  await expect(page.getByRole("menuitem", { name: "Edit…" })).toBeFocused();
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await page.keyboard.press("Escape");
  await page.keyboard.press("e");
  await expect(page.getByRole("dialog", { name: "Edit the goal" })).toBeVisible();
});

test("rows_of_runs_are_walked_and_opened_by_keys", async ({ page, stack, signIn }) => {
  const id = await converse(stack, "Walked", "First.");
  await say(stack, id, "Second.");
  await signIn(page);
  await page.goto("/runs");
  const rows = page.getByRole("list", { name: "Runs" }).getByRole("listitem");
  await expect(rows.nth(1)).toBeVisible();
  const second = await rows.nth(1).getByRole("link").getAttribute("href");
  // The filter is a text field, in which the keys are letters.
  await page.getByRole("combobox", { name: "Automation" }).focus();
  await page.keyboard.press("j");
  await expect(page.getByRole("combobox", { name: "Automation" })).toBeFocused();
  await page.getByRole("list", { name: "Runs" }).focus();
  await page.keyboard.press("j");
  await expect(rows.first().getByRole("link")).toBeFocused();
  await page.keyboard.press("k");
  await expect(rows.first().getByRole("link")).toBeFocused();
  await page.keyboard.press("j");
  await expect(rows.nth(1).getByRole("link")).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(new RegExp(`${second}$`));
});

test("rows_of_automations_are_walked_and_opened_by_keys", async ({ page, stack, signIn }) => {
  for (const name of ["walked-a", "walked-b"])
    await stack.api("POST", "/automations", { name, prompt: "x", agent: "claude" });
  await signIn(page);
  await page.goto("/automations?text=walked");
  const rows = page.getByRole("list", { name: "Automations" }).getByRole("listitem");
  await expect(rows).toHaveCount(2);
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await expect(rows.nth(1).getByRole("link")).toBeFocused();
  await page.keyboard.press("k");
  await expect(rows.first().getByRole("link")).toBeFocused();
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/automations\/walked-b$/);
});

test("chord_goes_to_conversations", async ({ page, signIn }) => {
  await signIn(page);
  await page.goto("/runs/no/such/page");
  await expect(page.getByText("There is no page here.")).toBeVisible();
  await page.keyboard.press("g");
  await page.keyboard.press("c");
  await expect(page).toHaveURL(/\/conversations/);
});

test("theme_is_kept", async ({ page, signIn }) => {
  await page.emulateMedia({ colorScheme: "light" });
  await signIn(page);
  await page.goto("/");
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  expect(await background()).toBe("rgb(250, 250, 248)");
  await page.getByRole("button", { name: "Appearance and sign-out" }).click();
  await page.getByRole("menuitem", { name: "Dark" }).click();
  await expect.poll(background).toBe("rgb(17, 20, 23)");
  await page.reload();
  await expect.poll(background).toBe("rgb(17, 20, 23)");
});
