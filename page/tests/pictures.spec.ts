/** Takes pictures of the views, for people to look at: page/test-results/pictures. */
import { expect, test } from "./fixtures";
import { seedAutomations, seedPictures } from "./stack";

const folder = `${import.meta.dirname}/../test-results/pictures`;
const SIZES = [
  { width: 1280, height: 800 },
  { width: 360, height: 740 },
];

test("pictures", async ({ browser, stack }) => {
  // Run it alone, as `PICTURES=1 scripts/test-page pictures`: it needs a server without other data.
  test.skip(process.env.PICTURES === undefined, "pictures are for people");
  test.setTimeout(300_000);
  const id = await seedPictures(stack);
  const failed = await seedAutomations(stack);
  for (const viewport of SIZES) {
    for (const colorScheme of ["light", "dark"] as const) {
      const context = await browser.newContext({ viewport, colorScheme, baseURL: stack.url });
      const page = await context.newPage();
      const name = (view: string) => `${folder}/${view}-${viewport.width}-${colorScheme}.png`;
      await page.goto("/");
      await expect(page.getByLabel("Link or code")).toBeVisible();
      await page.screenshot({ path: name("sign-in") });
      await page.goto(await stack.signInPath());
      await page.waitForURL((url) => url.pathname !== "/sign-in");
      const { items } = await stack.api<{ items: { id: string; title: string }[] }>(
        "GET",
        "/sessions?order=changed",
      );
      for (const [view, path] of [
        ["overview", "/"],
        ["approvals", "/approvals"],
        ["automations", "/automations"],
        ["automation", "/automations/tidy"],
        ["editor", "/automations/tidy/edit"],
        ["new-automation", "/automations/new"],
        ["runs", "/runs"],
        ["run", `/runs/${failed}`],
      ] as const) {
        await page.goto(path);
        await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
        await expect(page.getByRole("status", { name: "Loading" })).toHaveCount(0);
        // Nothing depends on it but the look of a picture.
        await page.waitForTimeout(800);
        await page.screenshot({ path: name(view) });
      }
      await page.goto("/conversations");
      await expect(page.getByText("Release 0.2").first()).toBeVisible();
      await page.screenshot({ path: name("conversations") });
      const views: [string, string][] = [["conversation", id]];
      for (const [view, title] of [
        ["code", "Sorting of rows"],
        ["failed", "Installation"],
      ] as const) {
        const found = items.find((each) => each.title === title);
        if (found) views.push([view, found.id]);
      }
      for (const [view, session] of views) {
        await page.goto(`/conversations/${session}`);
        await expect(page.getByRole("log")).toBeVisible();
        if (view === "conversation")
          await expect(page.getByRole("button", { name: "Allow once" })).toBeEnabled();
        if (view === "code") await expect(page.locator(".hljs-keyword").first()).toBeVisible();
        await page.screenshot({ path: name(view) });
      }
      await page.keyboard.press("Control+k");
      await expect(page.getByRole("dialog", { name: "Find or do" })).toBeVisible();
      await page.screenshot({ path: name("palette") });
      await context.close();
    }
  }
});
