import { composer, expect, test, transcript } from "./fixtures";
import { converse } from "./stack";

test("ten_tabs_share_the_streams", async ({ context, stack, signIn }) => {
  const id = await converse(stack, "Tabs");
  const first = await context.newPage();
  await signIn(first);
  test.setTimeout(180_000);
  const tabs = [first];
  while (tabs.length < 10) tabs.push(await context.newPage());
  for (const tab of tabs) {
    await tab.goto(`/conversations/${id}`);
    await expect(composer(tab)).toBeVisible();
  }
  // One stream for the tenant, and one for the text of the conversation that all of them show.
  await expect.poll(() => stack.metric("matins_traces_open")).toBe(2);
  await composer(first).fill("Hello to all tabs.");
  await composer(first).press("Enter");
  for (const tab of tabs) await expect(transcript(tab).getByText("Done: one line")).toHaveCount(1);
  expect(await stack.metric("matins_traces_open")).toBe(2);
});
