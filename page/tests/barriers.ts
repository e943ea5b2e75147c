/** Finds barriers of accessibility, in each theme and on narrow and wide screens. */
import AxeBuilder from "@axe-core/playwright";
import type { Page } from "@playwright/test";

export const SIZES = [
  { width: 1280, height: 800 },
  { width: 360, height: 740 },
];
export const THEMES = ["light", "dark"] as const;

export async function violations(page: Page): Promise<string[]> {
  const { violations: found } = await new AxeBuilder({ page }).analyze();
  return found.flatMap((rule) => rule.nodes.map((node) => `${rule.id}: ${node.html.slice(0, 160)}`));
}
