/** Finds barriers of accessibility, in each theme and on narrow and wide screens. */
import AxeBuilder from "@axe-core/playwright";
import { expect, type Page } from "@playwright/test";

export const SIZES = [
  { width: 1280, height: 800 },
  { width: 360, height: 740 },
];
/** The themes differ in their colours alone, so that only the rules of colours are checked in both. */
const COLOUR_RULES = ["color-contrast", "link-in-text-block"];

async function violations(page: Page, rules?: string[]): Promise<string[]> {
  // The other mode opens a page for each result, for the sake of frames from other origins. The page has no frames.
  // What lies behind a dialog is dimmed and out of reach until the dialog is closed.
  const axe = new AxeBuilder({ page }).setLegacyMode().exclude("[data-aria-hidden]");
  // All rules run, but only barriers are described.
  axe.options({ resultTypes: ["violations"], selectors: false });
  const { violations: found } = await (rules === undefined ? axe : axe.withRules(rules)).analyze();
  return found.flatMap((rule) => rule.nodes.map((node) => `${rule.id}: ${node.html.slice(0, 160)}`));
}

/** Expects that a view has no barrier in both themes, and that it is not wider than the screen. */
export async function expectNoBarrier(page: Page, view: string): Promise<void> {
  // Without motion a colour is the new one at once.
  await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
  expect(await violations(page), view).toEqual([]);
  await page.emulateMedia({ colorScheme: "dark", reducedMotion: "reduce" });
  expect(await violations(page, COLOUR_RULES), `${view}, dark`).toEqual([]);
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  expect(width, view).toBeLessThanOrEqual(page.viewportSize()?.width ?? 0);
}
