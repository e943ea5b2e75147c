import { composer, expect, test } from "./fixtures";
import { converse } from "./stack";

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
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  expect(await background()).toBe("rgb(250, 250, 248)");
  await page.getByRole("button", { name: "Appearance and sign-out" }).click();
  await page.getByRole("menuitem", { name: "Dark" }).click();
  await expect.poll(background).toBe("rgb(17, 20, 23)");
  await page.reload();
  await expect.poll(background).toBe("rgb(17, 20, 23)");
});
