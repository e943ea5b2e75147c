import { gzipSync } from "node:zlib";
import type { Response } from "@playwright/test";
import { composer, expect, test } from "./fixtures";
import { converse } from "./stack";

/** The limits of the first screen, and of what the conversation adds. */
const SHELL_BYTES = 220 * 1024;
const CONVERSATION_BYTES = 100 * 1024;

test("conversation_loads_within_the_budget", async ({ page, stack, signIn }) => {
  const id = await converse(stack, "Budget", "Show me the code.");
  await signIn(page);
  const files: Response[] = [];
  page.on("response", (response) => {
    if (/\.(js|css)$/.test(new URL(response.url()).pathname)) files.push(response);
  });
  await page.goto(`/conversations/${id}`);
  await expect(composer(page)).toBeVisible();
  await expect(
    page.getByText("The function keeps the order of rows with the same key:", { exact: true }),
  ).toBeVisible();
  expect(files.length).toBeGreaterThan(0);
  // Reads bodies here: a read that begins as the test ends is rejected, and fails it.
  const bodies = await Promise.all(files.map((file) => file.body()));
  const bytes = bodies.reduce((sum, body) => sum + gzipSync(body, { level: 9 }).length, 0);
  expect(bytes).toBeLessThan(SHELL_BYTES + CONVERSATION_BYTES);
});
