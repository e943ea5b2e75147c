import { composer, expect, test, transcript } from "./fixtures";
import { converse, settled } from "./stack";

/** With a row for each step, they make more rows than one page of the transcript has. */
const MESSAGES = 15;
const STEPS = 16;

test("long_history_pages_backwards_with_few_rows_in_the_document", async ({ page, stack, signIn }) => {
  test.setTimeout(300_000);
  const id = await converse(stack, "History");
  for (let number = 1; number <= MESSAGES; number += 1) {
    // The last one gets a short answer, so that it is on the screen.
    const work = number < MESSAGES ? ` Work in ${STEPS} steps.` : "";
    await stack.api("POST", `/sessions/${id}/messages`, { text: `Message number ${number}.${work}` });
  }
  await settled(stack, id);
  const newest = await stack.api<{ items: object[]; before: number }>(
    "GET",
    `/sessions/${id}/messages?last=200`,
  );
  expect(newest.before).toBeGreaterThan(0);
  await signIn(page);
  await page.goto(`/conversations/${id}`);
  await expect(composer(page)).toBeVisible();
  const log = transcript(page);
  await expect(log.getByText(`Message number ${MESSAGES}.`)).toBeVisible();
  const rows = () => log.locator("[data-index]").count();
  expect(await rows()).toBeLessThanOrEqual(60);
  await log.hover();
  await expect(async () => {
    await page.mouse.wheel(0, -4_000);
    await expect(log.getByText("Message number 1.")).toBeVisible({ timeout: 500 });
  }).toPass();
  expect(await rows()).toBeLessThanOrEqual(60);
  await page.getByRole("button", { name: /To the end|new$/ }).click();
  await expect(log.getByText(`Message number ${MESSAGES}.`)).toBeVisible();
});
