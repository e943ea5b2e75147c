import { composer, expect, test } from "./fixtures";
import { converse } from "./stack";

test("pasted_link_signs_in", async ({ page, stack }) => {
  await page.goto("/");
  const link = page.getByLabel("Link or code");
  await expect(link).toBeVisible();
  await link.fill(`${stack.url}/sign-in#mal_wrong`);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(link).toHaveAttribute("aria-invalid", "true");
  await link.fill(stack.url + (await stack.signInPath()));
  await page.keyboard.press("Enter");
  await expect(page.getByRole("navigation", { name: "Main" })).toBeVisible();
  await expect(page).toHaveTitle(/Matins/);
});

test("revoked_sign_in_keeps_the_draft", async ({ page, stack, signIn }) => {
  const id = await converse(stack, "Draft", "Hello.");
  await signIn(page);
  await page.goto(`/conversations/${id}`);
  await composer(page).fill("A long thought that must not be lost");
  await page.evaluate(() => fetch("/api/v1/sign-in", { method: "DELETE" }));
  await page.getByRole("button", { name: "Send" }).click();
  await expect(page.getByRole("dialog", { name: "Your sign-in has ended" })).toBeVisible();
  await page.getByLabel("Link or code").fill(await stack.signInPath());
  await page.keyboard.press("Enter");
  await expect(page.getByRole("dialog")).toBeHidden();
  await expect(composer(page)).toHaveValue("A long thought that must not be lost");
});

test("viewer_cannot_send", async ({ page, stack, signIn }) => {
  const id = await converse(stack, "Looked at", "Hello.");
  await signIn(page, "viewer");
  await page.goto(`/conversations/${id}`);
  await expect(page.getByText("Hello.").first()).toBeVisible();
  await expect(page.getByRole("button", { name: "Send" })).toBeDisabled();
});
