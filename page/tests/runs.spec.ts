import { expect, test } from "./fixtures";
import { converse, settled } from "./stack";

interface Run {
  id: string;
  session_id: string;
}

test.use({ stackName: "runs" });

test("empty_ledger_says_so", async ({ page, signIn }) => {
  await signIn(page);
  await page.goto("/runs");
  await expect(page.getByText("Nothing has run yet.")).toBeVisible();
});

test("matching_runs_are_retried_after_a_question", async ({ page, stack, signIn }) => {
  const session = await stack.api<{ id: string }>("POST", "/sessions", { agent: "claude", title: "Mail" });
  await stack.api("POST", `/sessions/${session.id}/pause`);
  for (const text of ["One.", "Two."]) {
    const run = await stack.api<Run>("POST", `/sessions/${session.id}/messages`, { text });
    await stack.api("POST", `/runs/${run.id}/cancel`);
  }
  await stack.api("POST", `/sessions/${session.id}/resume`);
  await signIn(page);
  // A filter that the page does not have shows all runs, and nobody retries all runs at once.
  await page.goto("/runs?status=cancelled");
  await expect(page.getByText("2 runs", { exact: true })).toBeVisible();
  await expect(page.getByRole("button", { name: "All" })).toHaveAttribute("aria-pressed", "true");
  await expect(page.getByRole("button", { name: /^Retry/ })).toHaveCount(0);
  await page.getByRole("button", { name: "Skipped, cancelled" }).click();
  await page.getByRole("button", { name: "Retry 2" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Keep" }).click();
  await expect(page.getByText("2 runs", { exact: true })).toBeVisible();
  await page.getByRole("button", { name: "Retry 2" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Retry 2 runs" }).click();
  await expect(page.getByText("2 runs queued again")).toBeVisible();
  await settled(stack, session.id);
  await page.getByRole("button", { name: "Succeeded" }).click();
  await expect(page.getByText("2 runs", { exact: true })).toBeVisible();
});

test("retry_of_another_number_of_runs_says_so_and_keeps_the_dialog", async ({ page, stack, signIn }) => {
  const session = await stack.api<{ id: string }>("POST", "/sessions", { agent: "claude", title: "Counted" });
  await stack.api("POST", `/sessions/${session.id}/pause`);
  const cancelOne = async (text: string) => {
    const run = await stack.api<Run>("POST", `/sessions/${session.id}/messages`, { text });
    await stack.api("POST", `/runs/${run.id}/cancel`);
  };
  await cancelOne("One.");
  await signIn(page);
  await page.goto("/runs?status=other");
  await page.getByRole("button", { name: /^Retry/ }).click();
  const dialog = page.getByRole("dialog", { name: /^Retry \d+ runs?\?$/ });
  await expect(dialog).toBeVisible();
  await cancelOne("Two.");
  const button = dialog.getByRole("button", { name: /^Retry/ });
  await button.click();
  await expect(dialog.getByRole("alert")).toBeVisible();
  await expect(button).toBeEnabled();
  await dialog.getByRole("button", { name: "Keep" }).click();
  await expect(dialog).toBeHidden();
});

test("failed_run_is_retried_and_has_one_row", async ({ page, stack, signIn }) => {
  await stack.api("POST", "/automations", {
    name: "build",
    prompt: "Ask the build server, this is the first time.",
    agent: "claude",
    session: "continuous",
    policies: { retry: { attempts: 1 } },
  });
  const run = await stack.api<Run>("POST", "/automations/build/fire");
  await settled(stack, run.session_id);
  await converse(stack, "Invoice template", "Begin a draft.");
  await signIn(page);
  await page.goto("/runs?status=failed");
  const row = page.getByRole("list", { name: "Runs" }).getByRole("listitem");
  await expect(row).toHaveCount(1);
  await expect(row).toContainText("build");
  await row.getByRole("link").click();
  await expect(page.getByRole("alert")).toContainText("The build server did not answer");
  await page.getByRole("button", { name: "Retry" }).click();
  // The page goes to the new attempt, and follows it to its end.
  await expect(page.getByText("The build is green again.")).toBeVisible();
  await expect(page.getByText("Attempt 2")).toBeVisible();
  await expect(page.getByRole("button", { name: "Retry" })).toHaveCount(0);
  await page.goto("/runs");
  await expect(row.filter({ hasText: "build" })).toHaveCount(1);
  await expect(row.filter({ hasText: "build" })).toContainText("succeeded");
  await page.getByRole("button", { name: "Failed" }).click();
  await expect(page.getByText("No run matches.")).toBeVisible();
  await expect(page).toHaveURL(/status=failed/);
  await page.getByLabel("Each attempt").check();
  await expect(row).toHaveCount(1);
});

test("running_turn_shows_its_text_and_can_be_cancelled", async ({ page, stack, signIn }) => {
  const session = await stack.api<{ id: string }>("POST", "/sessions", { agent: "claude", title: "Mail" });
  const run = await stack.api<Run>("POST", `/sessions/${session.id}/messages`, { text: "Write it slowly." });
  await signIn(page);
  await page.goto(`/runs/${run.id}`);
  await expect(page.getByText("Version 0.2 is out.").first()).toBeVisible();
  await page.getByRole("button", { name: "Cancel" }).click();
  await expect(page.getByRole("main")).toContainText("cancelled");
  await expect(page.getByRole("button", { name: "Cancel" })).toHaveCount(0);
});

test("sent_prompt_needs_a_permission", async ({ page, stack, signIn }) => {
  await stack.api("POST", "/automations", { name: "news", prompt: "Say hello.", agent: "claude" });
  const run = await stack.api<Run>("POST", "/automations/news/fire");
  await settled(stack, run.session_id);
  await signIn(page);
  await page.goto(`/runs/${run.id}`);
  // By key: panels that load above it move it between the press and the release of a mouse button.
  const summary = page.getByText("Sent prompt and diagnostics");
  await summary.press("Enter");
  await expect(page.getByRole("heading", { name: /^Prompt, .* version 1/ })).toBeVisible();
  await page.context().clearCookies();
  await signIn(page, "viewer");
  await page.goto(`/runs/${run.id}`);
  await summary.press("Enter");
  await expect(page.getByText("it needs records:read")).toBeVisible();
});

test("unknown_run_says_so", async ({ page, signIn }) => {
  await signIn(page);
  await page.goto("/runs/run_00000000000000000000000000000000");
  await expect(page.getByText("There is no such run.")).toBeVisible();
});
