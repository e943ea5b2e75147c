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

test("kill_of_the_server_loses_and_doubles_nothing", async ({ page, stack, signIn }) => {
  const id = await converse(stack, "Kill");
  await signIn(page);
  await page.goto(`/conversations/${id}`);
  const log = transcript(page);
  await composer(page).fill("Write slowly.");
  await composer(page).press("Enter");
  await expect(log.getByText("Version 0.2 is out.")).toBeVisible();
  await stack.killServer();
  await expect(page.getByText(/Lost .* ago/)).toBeVisible();
  await composer(page).fill("Written meanwhile");
  await stack.startServer();
  await expect(page.getByText(/Lost .* ago/)).toBeHidden({ timeout: 30_000 });
  await expect(composer(page)).toHaveValue("Written meanwhile");
  await stack.api("POST", `/sessions/${id}/cancel`);
  await stack.api("POST", `/sessions/${id}/messages`, { text: "Sent by another program." });
  await expect(log.getByText("Sent by another program.")).toHaveCount(1, { timeout: 30_000 });
  await expect(log.getByText("Done: one line")).toHaveCount(1, { timeout: 30_000 });
});
