/** The flows that depend most on the database: the same tests for SQLite and for PostgreSQL. */
import { composer, expect, test, transcript } from "./fixtures";
import { converse, seedPictures, settled } from "./stack";

export function testFlows(): void {
  test("streaming_answer_follows_only_at_the_end_and_stops", async ({ page, stack, signIn }) => {
    const id = await converse(stack, "Stream");
    await signIn(page);
    await page.goto(`/conversations/${id}`);
    await composer(page).fill("Write slowly.");
    await composer(page).press("Enter");
    const log = transcript(page);
    await expect(log.getByText("Version 0.2 is out.")).toBeVisible();
    const distance = () => log.evaluate((each) => each.scrollHeight - each.scrollTop - each.clientHeight);
    await expect
      .poll(() => log.evaluate((each) => each.scrollHeight - each.clientHeight), { timeout: 30_000 })
      .toBeGreaterThan(300);
    // New text is there for a moment before the transcript follows it.
    await expect.poll(distance).toBeLessThan(48);
    await log.hover();
    await page.mouse.wheel(0, -250);
    // The wheel turns later than the call returns, and over several frames.
    await expect.poll(distance).toBeGreaterThanOrEqual(249);
    const moved = () =>
      log.evaluate(async (each) => {
        const before = each.scrollTop;
        for (let frame = 0; frame < 5; frame += 1) await new Promise(requestAnimationFrame);
        return Math.abs(each.scrollTop - before);
      });
    await expect.poll(moved).toBeLessThan(1);
    const place = await log.evaluate((each) => each.scrollTop);
    const length = await log.evaluate((each) => each.scrollHeight);
    await expect.poll(() => log.evaluate((each) => each.scrollHeight)).toBeGreaterThan(length);
    expect(Math.abs((await log.evaluate((each) => each.scrollTop)) - place)).toBeLessThan(4);
    await page.getByRole("button", { name: "Stop" }).click();
    await settled(stack, id);
    const { items } = await stack.api<{ items: { role: string; kind: string; content: string }[] }>(
      "GET",
      `/sessions/${id}/messages?last=10`,
    );
    const answer = items.find((each) => each.role === "assistant" && each.kind === "message");
    expect(answer).toBeDefined();
    // The final row has replaced the live text: no sentence is there twice.
    await expect(page.getByRole("button", { name: "Stop" })).toBeHidden();
    const sentences = (text: string) => text.split("It mends the sign-in").length;
    await expect
      .poll(async () => sentences((await log.textContent()) ?? ""))
      .toBe(sentences(answer?.content ?? ""));
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

  test("approval_shows_the_input_and_is_inert_at_first", async ({ page, stack, signIn }) => {
    const id = await seedPictures(stack, "-first");
    await signIn(page);
    await page.goto(`/conversations/${id}`);
    const allow = page.getByRole("button", { name: "Allow once" });
    await expect(allow).toBeVisible();
    await expect(page.getByText("git push origin main", { exact: true }).first()).toBeVisible();
    await expect(page.getByText("changelog").filter({ visible: true }).first()).toBeVisible();
    await expect(allow).toBeEnabled();
    await allow.click();
    await expect(transcript(page).getByText("The branch is out.")).toBeVisible();
    await expect(allow).toBeHidden();
  });

  test("conversation_with_automations_is_deleted_in_two_steps", async ({ page, stack, signIn }) => {
    const id = await converse(stack, "Two steps", "Hello.");
    await stack.api("POST", "/automations", { name: "bound-here", prompt: "Look.", session: `bound:${id}` });
    await signIn(page);
    await page.goto(`/conversations/${id}`);
    await page.getByRole("button", { name: "Conversation menu" }).click();
    await page.getByRole("menuitem", { name: /Delete/ }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: /Delete/ }).click();
    await expect(dialog.getByText("bound-here")).toBeVisible();
    await dialog.getByRole("button", { name: /Delete conversation and 1 automation/ }).click();
    await expect(page).not.toHaveURL(new RegExp(id));
    const { items } = await stack.api<{ items: { name: string }[] }>("GET", "/automations");
    expect(items.map((each) => each.name)).not.toContain("bound-here");
  });
}
