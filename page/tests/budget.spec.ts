import { gzipSync } from "node:zlib";
import { composer, expect, test } from "./fixtures";
import { converse } from "./stack";

/** The limits of the first screen, and of what the conversation adds. */
const SHELL_BYTES = 220 * 1024;
const CONVERSATION_BYTES = 100 * 1024;

test("conversation_loads_within_the_budget", async ({ page, stack, signIn }) => {
  const id = await converse(stack, "Budget", "Show me the code.");
  await signIn(page);
  let bytes = 0;
  let files = 0;
  page.on("response", async (response) => {
    if (!/\.(js|css)$/.test(new URL(response.url()).pathname)) return;
    files += 1;
    bytes += gzipSync(await response.body(), { level: 9 }).length;
  });
  await page.goto(`/conversations/${id}`);
  await expect(composer(page)).toBeVisible();
  await expect(page.getByText("The function keeps the order")).toBeVisible();
  expect(files).toBeGreaterThan(0);
  expect(bytes).toBeLessThan(SHELL_BYTES + CONVERSATION_BYTES);
});
