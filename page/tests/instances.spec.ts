/** Instances with folders: added on the page, served by a real `matins runtime`, and removed. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { expectNoBarrier } from "./barriers";
import { expect, test, transcript } from "./fixtures";
import type { Stack } from "./stack";

test.use({ stackName: "instances" });

interface Added {
  instance: { id: string; name: string };
  secret: string;
}

/** Adds an instance over the API. Its folder exists unless `folder` is another one. */
async function add(stack: Stack, name: string, folder = join(stack.home, name)): Promise<Added> {
  await mkdir(join(stack.home, name), { mode: 0o700 });
  return stack.api<Added>("POST", "/instances", { name, kind: "directory", folder });
}

const place = (stack: Stack, name: string, on: string) =>
  stack.api("POST", "/automations", {
    name,
    prompt: "Say what is new.",
    agent: "claude",
    session: "continuous",
    placed_on: on,
    policies: { retry: { attempts: 1 } },
  });

const row = (page: Page, name: string) =>
  page
    .getByRole("listitem")
    .filter({ has: page.getByRole("button", { name: `Remove ${name}`, exact: true }) });

test("run_waits_as_a_file_until_a_runtime_of_a_new_instance_takes_it", async ({ page, stack, signIn }) => {
  const folder = join(stack.home, "elsewhere");
  await signIn(page);
  await page.goto("/settings/instances");
  await page.getByRole("button", { name: "Add an instance" }).click();
  const dialog = page.getByRole("dialog", { name: "Add an instance" });
  await dialog.getByLabel("Name").fill("elsewhere");
  await dialog.getByLabel("Folder", { exact: true }).fill("triggers");
  await dialog.getByRole("button", { name: "Add", exact: true }).click();
  await expect(dialog.getByRole("alert")).toContainText("an absolute path");
  await expect(dialog.getByLabel("Folder", { exact: true })).toBeFocused();
  await dialog.getByLabel("Folder", { exact: true }).fill(folder);
  await dialog.getByRole("button", { name: "Add", exact: true }).click();
  await expect(page.getByText("elsewhere is added")).toBeVisible();
  await expect(
    page.getByText(`matins runtime --folder ${folder} --server ${stack.url} --token-file elsewhere.token`),
  ).toBeVisible();
  const token = page.locator("code").filter({ hasText: /^mat_/ });
  await expect(token).toHaveText(/^mat_\w{40,}$/);
  const secret = (await token.textContent()) ?? "";
  await page.getByRole("button", { name: "Done" }).click();
  await expect(page.getByText(secret)).toHaveCount(0);

  // The folder does not exist yet, and the check says what to do.
  const instance = row(page, "elsewhere");
  await instance.getByRole("button", { name: "Check elsewhere" }).click();
  const findings = instance.getByRole("status").getByRole("listitem");
  await expect(findings.filter({ hasText: "folder" }).first()).toContainText("Create the folder");
  await expect(findings.filter({ hasText: "runtime" }).first()).toContainText(
    `start matins runtime --folder ${folder}`,
    { ignoreCase: true },
  );
  await mkdir(folder, { mode: 0o700 });
  await instance.getByRole("button", { name: "Check elsewhere" }).click();
  await expect(findings.filter({ hasText: "this server can write" })).toHaveCount(1);

  await place(stack, "report", "elsewhere");
  await page.goto("/automations/report");
  await expect(page.getByText(", on elsewhere")).toBeVisible();
  await page.getByRole("button", { name: "Run now" }).click();
  const waiting = page.getByRole("link", { name: /^file waits at elsewhere/ });
  await expect(waiting).toHaveAttribute("title", "Its file waits at elsewhere until a runtime takes it.");
  await waiting.click();
  await expect(page.getByText("file waits", { exact: true })).toBeVisible();
  await expect(page.getByText("No runtime watches the folder now.")).toBeVisible();
  await page.getByRole("link", { name: "Conversation", exact: true }).click();
  await expect(page.getByText("file waits", { exact: true }).first()).toBeVisible();
  await expect(page.getByTitle("Its turns run there")).toHaveText("elsewhere");
  await expect(page.getByText(/, on elsewhere; 1 file waits at elsewhere$/)).toBeVisible();

  const runtime = await stack.startRuntime(folder, secret);
  await expect(transcript(page).getByText("Done: one line")).toBeVisible({ timeout: 30_000 });
  await expect(page.getByText("file waits")).toHaveCount(0);
  await page.clock.install();
  await page.goto("/settings/instances");
  await expect(row(page, "elsewhere")).toContainText("online");
  await expect(page.getByRole("button", { name: "Remove elsewhere" })).toBeDisabled();
  await runtime.stop();
  // The view reads the instances again after a while, which the clock skips.
  await expect(async () => {
    await page.clock.fastForward(10_000);
    await expect(row(page, "elsewhere")).toContainText("offline", { timeout: 1_000 });
  }).toPass({ timeout: 30_000 });
});

test("removal_names_what_is_placed_there_and_fails_its_runs", async ({ page, stack, signIn }) => {
  await add(stack, "attic");
  await place(stack, "sweep", "attic");
  const run = await stack.api<{ id: string; session_id: string }>("POST", "/automations/sweep/fire");
  await stack.api("POST", "/sessions", { agent: "claude", placed_on: "attic", title: "Talk there" });
  await signIn(page);
  await page.goto("/runs?status=open");
  const open = page.getByRole("main").getByRole("link", { name: /sweep/ });
  await expect(open).toContainText("file waits");
  await expect(open).toContainText("at attic");
  await page.goto("/settings/instances");
  await row(page, "attic").getByRole("button", { name: "Show what waits" }).click();
  await expect(page.getByRole("list", { name: "Runs that wait for attic" })).toContainText("sweep");
  await page.getByRole("button", { name: "Remove attic" }).click();
  const dialog = page.getByRole("dialog", { name: "Remove the instance attic?" });
  await expect(dialog.getByRole("listitem")).toHaveText(["sweep"]);
  await expect(dialog).toContainText("1 waiting run fails");
  await dialog.getByRole("button", { name: "Remove" }).click();
  // An open dialog hides the rows too.
  await expect(dialog).toBeHidden();
  await expect(row(page, "attic")).toHaveCount(0);
  await page.goto(`/runs/${run.id}`);
  await expect(page.getByText("instance gone", { exact: true })).toBeVisible();
  await expect(page.getByText("attic, removed", { exact: true })).toBeVisible();
  await page.goto("/automations/sweep");
  await expect(page.getByRole("alert")).toContainText("Its instance attic was removed.");
  await expect(page.getByText(", on attic, removed")).toBeVisible();
  await page.getByRole("tab", { name: "Sessions" }).click();
  await expect(page.getByText("the next run continues it, on attic, removed")).toBeVisible();
  await page.goto("/automations");
  const listed = page.getByRole("list", { name: "Automations" }).getByRole("listitem");
  await expect(listed.filter({ hasText: "sweep" })).toContainText("on attic, removed");
  await page.goto(`/conversations/${run.session_id}`);
  await expect(page.getByTitle("Its instance was removed")).toHaveText("attic, removed");
  const talk = page.getByRole("link", { name: /Talk there/ });
  await expect(talk).toContainText("its instance attic was removed");
  await talk.click();
  await expect(page.getByTitle("Its instance was removed")).toHaveText("attic, removed");
});

test("new_token_replaces_the_earlier_one", async ({ page, stack, signIn }) => {
  const { secret } = await add(stack, "cellar");
  await signIn(page);
  await page.goto("/settings/instances");
  await page.getByRole("button", { name: "New token for cellar" }).click();
  const dialog = page.getByRole("dialog", { name: "Replace the token of cellar?" });
  await dialog.getByRole("button", { name: "Replace it" }).click();
  await expect(page.getByText("The new token of cellar")).toBeVisible();
  const token = page.locator("code").filter({ hasText: /^mat_/ });
  await expect(token).toBeVisible();
  expect(await token.textContent()).not.toBe(secret);
  await expect(stack.startRuntime(join(stack.home, "cellar"), secret)).rejects.toThrow(/rotate-token/);
});

test("removal_is_refused_if_a_runtime_has_come_meanwhile", async ({ page, stack, signIn }) => {
  const { secret } = await add(stack, "shed");
  await signIn(page);
  await page.goto("/settings/instances");
  await page.getByRole("button", { name: "Remove shed" }).click();
  const dialog = page.getByRole("dialog", { name: "Remove the instance shed?" });
  await expect(dialog).toBeVisible();
  const runtime = await stack.startRuntime(join(stack.home, "shed"), secret);
  await dialog.getByRole("button", { name: "Remove" }).click();
  await expect(dialog.getByRole("alert")).toContainText("shed");
  await dialog.getByRole("button", { name: "Keep" }).click();
  await expect(row(page, "shed")).toContainText("online");
  await runtime.stop();
});

test("viewer_sees_instances_and_changes_none", async ({ page, stack, signIn }) => {
  await add(stack, "lodge");
  await signIn(page, "viewer");
  await page.goto("/settings/instances");
  await expect(row(page, "lodge")).toContainText("offline");
  for (const name of ["Add an instance", "Check lodge", "New token for lodge", "Remove lodge"]) {
    await expect(page.getByRole("button", { name })).toBeDisabled();
    await expect(page.getByRole("button", { name })).toHaveAttribute("title", /instances:write/);
  }
});

test("findings_and_steps_have_no_barrier_on_a_phone", async ({ page, stack, signIn }) => {
  await page.setViewportSize({ width: 360, height: 740 });
  await add(stack, "pier", "/nowhere/at/all");
  await signIn(page);
  await page.goto("/settings/instances");
  await page.getByRole("button", { name: "New token for pier" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Replace it" }).click();
  await page.getByRole("button", { name: "Check pier" }).click();
  await expect(row(page, "pier").getByText("Create the folder")).toBeVisible();
  await expectNoBarrier(page, "steps and findings");
});
