import { SIZES, THEMES, violations } from "./barriers";
import { composer, expect, test } from "./fixtures";
import { seedAutomations, seedPictures } from "./stack";

let conversation: Promise<string> | undefined;
let failed: Promise<string> | undefined;

for (const size of SIZES) {
  for (const theme of THEMES) {
    test.describe(`${size.width} ${theme}`, () => {
      test.use({ viewport: size, colorScheme: theme });

      test("sign_in_has_no_barrier", async ({ page }) => {
        await page.goto("/");
        await expect(page.getByLabel("Link or code")).toBeVisible();
        expect(await violations(page)).toEqual([]);
      });

      test("conversation_has_no_barrier", async ({ page, stack }) => {
        conversation ??= seedPictures(stack, "-access");
        await page.goto(await stack.signInPath());
        await page.waitForURL((url) => url.pathname !== "/sign-in");
        await page.goto(`/conversations/${await conversation}`);
        await expect(composer(page)).toBeVisible();
        await expect(page.getByRole("button", { name: "Allow once" })).toBeEnabled();
        expect(await violations(page)).toEqual([]);
        const width = await page.evaluate(() => document.documentElement.scrollWidth);
        expect(width).toBeLessThanOrEqual(size.width);
      });

      test("views_have_no_barrier", async ({ page, stack }) => {
        conversation ??= seedPictures(stack, "-access");
        await conversation;
        failed ??= seedAutomations(stack);
        const run = await failed;
        await page.goto(await stack.signInPath());
        await page.waitForURL((url) => url.pathname !== "/sign-in");
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
          "/settings/tokens",
          "/settings/appearance",
        ]) {
          await page.goto(path);
          await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
          await expect(page.getByRole("status", { name: "Loading" })).toHaveCount(0);
          expect(await violations(page), path).toEqual([]);
          const width = await page.evaluate(() => document.documentElement.scrollWidth);
          expect(width, path).toBeLessThanOrEqual(size.width);
          const hidden = await page.getByRole("main").evaluate((main) => main.scrollWidth - main.clientWidth);
          expect(hidden, path).toBe(0);
        }
      });

      test("palette_has_no_barrier", async ({ page, stack }) => {
        conversation ??= seedPictures(stack, "-access");
        await page.goto(await stack.signInPath());
        await page.waitForURL((url) => url.pathname !== "/sign-in");
        await page.goto(`/conversations/${await conversation}`);
        await expect(composer(page)).toBeVisible();
        // Leaves the message field.
        await page.keyboard.press("Escape");
        await page.keyboard.press("Control+k");
        await expect(page.getByRole("dialog", { name: "Find or do" })).toBeVisible();
        expect(await violations(page)).toEqual([]);
      });
    });
  }
}
