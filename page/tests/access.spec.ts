import { expectNoBarrier, SIZES } from "./barriers";
import { composer, expect, test } from "./fixtures";
import { seedAutomations, seedPictures } from "./stack";

let conversation: Promise<string> | undefined;
let failed: Promise<string> | undefined;

for (const size of SIZES) {
  test.describe(`${size.width}`, () => {
    test.use({ viewport: size });

    test("sign_in_has_no_barrier", async ({ page }) => {
      await page.goto("/");
      await expect(page.getByLabel("Link or code")).toBeVisible();
      await expectNoBarrier(page, "sign-in");
    });

    test("conversation_and_palette_have_no_barrier", async ({ page, stack, signIn }) => {
      conversation ??= seedPictures(stack, "-access");
      await signIn(page);
      await page.goto(`/conversations/${await conversation}`);
      await expect(composer(page)).toBeVisible();
      await expect(page.getByRole("button", { name: "Allow once" })).toBeEnabled();
      await expectNoBarrier(page, "conversation");
      // Leaves the message field.
      await page.keyboard.press("Escape");
      await page.keyboard.press("Control+k");
      await expect(page.getByRole("dialog", { name: "Find or do" })).toBeVisible();
      await expectNoBarrier(page, "palette");
    });

    test("views_have_no_barrier", async ({ page, stack, signIn }) => {
      conversation ??= seedPictures(stack, "-access");
      await conversation;
      failed ??= seedAutomations(stack);
      const run = await failed;
      await signIn(page);
      for (const path of [
        "/",
        "/approvals",
        "/automations",
        "/automations/standup",
        "/automations/standup?tab=settings",
        "/automations/standup?tab=usage",
        "/automations/new",
        "/runs",
        `/runs/${run}`,
        "/settings/agents",
        "/settings/instances",
        "/settings/tokens",
        "/settings/appearance",
      ]) {
        await page.goto(path);
        await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
        await expect(page.getByRole("status", { name: "Loading" })).toHaveCount(0);
        await expectNoBarrier(page, path);
        const hidden = await page.getByRole("main").evaluate((main) => main.scrollWidth - main.clientWidth);
        expect(hidden, path).toBe(0);
      }
    });
  });
}
