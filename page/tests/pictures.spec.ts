/**
 * Takes pictures of a day that a server has lived through: four for the documentation (docs/pictures), and all views for
 * people to look at (page/test-results/pictures). `PICTURES=1 scripts/test-page pictures` takes them; `-g documentation`
 * only the four.
 */
import { mkdir, writeFile } from "node:fs/promises";
import type { Browser, Page } from "@playwright/test";
import { type Day, LOOKED, liveThroughDay, NOW } from "./day";
import { expect, test } from "./fixtures";

const documentation = `${import.meta.dirname}/../../docs/pictures`;
const folder = `${import.meta.dirname}/../test-results/pictures`;
const THEMES = ["light", "dark"] as const;
const SIZES = [
  { width: 1280, height: 800 },
  { width: 360, height: 740 },
  { width: 2560, height: 1440 },
];

test.describe.configure({ mode: "serial" });
test.skip(process.env.PICTURES === undefined, "pictures are for people");

let day: Day;
test.beforeAll(async () => {
  test.setTimeout(900_000);
  day = await liveThroughDay();
});
test.afterAll(() => day?.stop());

/** Opens a signed-in page at the instant of the pictures, in a browser that looked at the overview in the evening. */
async function open(browser: Browser, context: Parameters<Browser["newContext"]>[0]): Promise<Page> {
  const opened = await browser.newContext({ ...context, baseURL: day.stack.url });
  await opened.clock.setFixedTime(NOW);
  await opened.addInitScript((looked) => {
    if (localStorage.getItem("matins.looked") === null) localStorage.setItem("matins.looked", looked);
    sessionStorage.setItem("matins.since", looked);
  }, LOOKED);
  const page = await opened.newPage();
  await page.goto(await day.stack.signInPath());
  await page.waitForURL((url) => url.pathname !== "/sign-in");
  return page;
}

async function show(page: Page, path: string): Promise<void> {
  await page.goto(path);
  await expect(page.getByRole("heading", { level: 1 }).first()).toBeVisible();
  await expect(page.getByRole("status", { name: "Loading" })).toHaveCount(0);
  // Nothing depends on it but the look of a picture.
  await page.waitForTimeout(800);
}

test("pictures_of_documentation", async ({ browser }) => {
  test.setTimeout(300_000);
  await mkdir(documentation, { recursive: true });
  for (const colorScheme of THEMES) {
    const page = await open(browser, {
      viewport: { width: 1280, height: 800 },
      colorScheme,
      deviceScaleFactor: 1.5,
    });
    const devTools = await page.context().newCDPSession(page);
    for (const [name, path] of [
      ["overview", "/"],
      ["conversation", `/conversations/${day.session}`],
      ["automation", "/automations/issue-triage"],
      ["editor", "/automations/nightly-audit/edit"],
    ] as const) {
      await show(page, path);
      if (name === "conversation")
        await expect(page.getByRole("button", { name: "Allow once" })).toBeEnabled();
      if (name === "editor")
        await expect(page.getByRole("region", { name: "What the agent will read" })).toBeVisible();
      const { data } = await devTools.send("Page.captureScreenshot", { format: "webp", quality: 82 });
      const picture = Buffer.from(data, "base64");
      expect(picture.length, name).toBeLessThanOrEqual(150_000);
      await writeFile(`${documentation}/page-${name}-${colorScheme}.webp`, picture);
    }
    await page.context().close();
  }
});

test("pictures_of_all_views", async ({ browser }) => {
  test.setTimeout(900_000);
  const { items } = await day.stack.api<{ items: { id: string; title: string }[] }>("GET", "/sessions");
  const code = items.find((each) => each.title === "Sorting of rows")?.id ?? "";
  for (const viewport of SIZES) {
    for (const colorScheme of THEMES) {
      const page = await open(browser, { viewport, colorScheme });
      const take = (view: string) =>
        page.screenshot({ path: `${folder}/${view}-${viewport.width}-${colorScheme}.png` });
      for (const [view, path] of [
        ["overview", "/"],
        ["approvals", "/approvals"],
        ["conversation", `/conversations/${day.session}`],
        ["code", `/conversations/${code}`],
        ["new-conversation", "/conversations?new=1"],
        ["automations", "/automations"],
        ["automation", "/automations/issue-triage"],
        ["paused", "/automations/inbox-digest"],
        ["sessions", "/automations/issue-triage?tab=sessions"],
        ["memory", "/automations/issue-triage?tab=memory"],
        ["no-memory", "/automations/backup-check?tab=memory"],
        ["artifacts", "/automations/issue-triage?tab=artifacts"],
        ["triggers", "/automations/tidy?tab=triggers"],
        ["usage", "/automations/inbox-digest?tab=usage"],
        ["settings", "/automations/tidy?tab=settings"],
        ["editor", "/automations/tidy/edit"],
        ["new-automation", "/automations/new"],
        ["runs", "/runs"],
        ["run", `/runs/${day.failed}`],
        ["agents", "/settings/agents"],
        ["instances", "/settings/instances"],
        ["tokens", "/settings/tokens"],
        ["notifications", "/settings/notifications"],
        ["tenants", "/settings/tenants"],
        ["appearance", "/settings/appearance"],
        ["nowhere", "/nowhere"],
      ] as const) {
        await show(page, path);
        await take(view);
      }
      await page.keyboard.press("Control+k");
      await expect(page.getByRole("dialog", { name: "Find or do" })).toBeVisible();
      await take("palette");
      await page.context().clearCookies();
      await page.goto("/");
      await expect(page.getByLabel("Link or code")).toBeVisible();
      await take("sign-in");
      await page.context().close();
    }
  }
});
