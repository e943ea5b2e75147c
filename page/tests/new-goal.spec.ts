/** The form of a new goal. */
import { expect, holdBack, test } from "./fixtures";

test.use({ stackName: "new-goal" });

const TEXT = "Write a short guide to tea: green, black and herbal.";

test("form_shows_refusals_at_their_fields_and_keeps_the_draft", async ({ page, signIn }) => {
  await signIn(page);
  await page.goto("/goals/new");
  await page.getByRole("button", { name: "Start" }).click();
  await expect(page.getByText("A goal needs a text.")).toBeVisible();
  await expect(page.getByLabel("Goal", { exact: true })).toBeFocused();
  await page.getByLabel("Goal", { exact: true }).fill(TEXT);
  await page.getByLabel("Team", { exact: true }).selectOption("demo");
  await expect(page.getByRole("list", { name: "Seats of demo" })).toContainText("worker ×2");
  await page.getByLabel("Directory").fill("not/absolute");
  await page.getByRole("button", { name: "Start" }).click();
  await expect(page.getByLabel("Directory")).toHaveAttribute("aria-invalid", "true");
  await expect(page.getByLabel("Directory")).toBeFocused();
  await page.reload();
  await expect(page.getByLabel("Goal", { exact: true })).toHaveValue(TEXT);
  await expect(page.getByLabel("Team", { exact: true })).toHaveValue("demo");
  const discard = page.getByRole("button", { name: "Discard" });
  const dialog = page.getByRole("dialog", { name: "Discard the goal?" });
  await discard.click();
  await dialog.getByRole("button", { name: "Keep editing" }).click();
  await expect(page.getByLabel("Goal", { exact: true })).toHaveValue(TEXT);
  await discard.click();
  await dialog.getByRole("button", { name: "Discard" }).click();
  await expect(page.getByLabel("Goal", { exact: true })).toHaveValue("");
});

test("form_that_is_left_leads_nowhere_and_tells_its_refusal", async ({ page, signIn }) => {
  await signIn(page);
  const leave = async (folder: string) => {
    await page.goto("/goals/new");
    await page.getByLabel("Goal", { exact: true }).fill(TEXT);
    await page.getByLabel("Title").fill("A guide that is left");
    await page.getByLabel("Team", { exact: true }).selectOption("demo");
    await page.getByLabel("Directory").fill(folder);
    await page.getByLabel("Create a draft and start it later").check();
    const held = await holdBack(page, "POST", /\/goals$/);
    await page.getByRole("button", { name: "Create the draft" }).click();
    await held.sent;
    await page.getByRole("link", { name: "Runs", exact: true }).click();
    await expect(page.getByRole("heading", { level: 1, name: "Runs" })).toBeVisible();
    held.release();
  };
  await leave("not/absolute");
  await expect(page.getByText(/^The goal is not created\. .*absolute/)).toBeVisible();
  await leave("");
  await expect(page.getByText("A guide that is left is a draft")).toBeVisible();
  await expect(page).toHaveURL(/\/runs$/);
});

test("rare_fields_unfold_at_their_refusals", async ({ page, stack, signIn }) => {
  const key = "a-guide-with-a-key";
  await stack.api("POST", "/goals", { goal: TEXT, team: "demo", key, draft: true });
  await signIn(page);
  await page.goto("/goals/new");
  await page.getByLabel("Goal", { exact: true }).fill(TEXT);
  await page.getByLabel("Title").fill("A guide with a title of its own");
  await page.getByLabel("Team", { exact: true }).selectOption("demo");
  await page.getByLabel("Create a draft and start it later").check();
  const more = page.getByRole("main").getByText("More", { exact: true });
  const turns = page.getByLabel("Turns", { exact: true });
  await expect(turns).toBeHidden();
  await more.click();
  await page.getByLabel("Key").fill(key);
  await turns.fill("0");
  await more.click();
  await expect(turns).toBeHidden();
  const create = page.getByRole("button", { name: "Create the draft" });
  await create.click();
  await expect(turns).toBeFocused();
  await expect(turns).toHaveAttribute("aria-invalid", "true");
  await turns.fill("70");
  await more.click();
  await create.click();
  await expect(page.getByLabel("Key")).toBeFocused();
  await expect(page.getByLabel("Key")).toHaveAttribute("aria-invalid", "true");
  await page.getByLabel("Key").fill(`${key}-again`);
  await expect(page.getByText(`--limit turns=70 --draft --title`)).toBeVisible();
  await create.click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("A guide with a title of its own");
  const goal = await stack.api<object>("GET", `/goals/${key}-again`);
  expect(goal).toMatchObject({ title: "A guide with a title of its own", turn_limit: 70, state: "draft" });
});

test("mistake_in_a_team_file_stands_at_the_file", async ({ page, signIn }) => {
  await signIn(page);
  await page.goto("/goals/new");
  await page.getByLabel("Goal", { exact: true }).fill(TEXT);
  await page.getByLabel("Team", { exact: true }).selectOption("file");
  await page.getByLabel("Team file").fill('name = "own"\nnonsense = 1');
  await page.getByRole("button", { name: "Start" }).click();
  await expect(page.getByLabel("Team file")).toHaveAttribute("aria-invalid", "true");
  await expect(page.getByLabel("Team file")).toBeFocused();
  await page.getByRole("button", { name: "Discard" }).click();
  await page
    .getByRole("dialog", { name: "Discard the goal?" })
    .getByRole("button", { name: "Discard" })
    .click();
});
