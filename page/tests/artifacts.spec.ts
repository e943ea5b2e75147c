import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { composer, expect, test } from "./fixtures";
import { call, converse, fire, fireNew, say } from "./stack";

test.use({ stackName: "artifacts" });

const save = (name: string, text: string, media_type = "text/plain") =>
  call("save_artifact", { name, text, media_type });

const section = (page: Page) => page.getByRole("region", { name: "Artifacts" });

test("versions_are_folded_and_each_is_downloaded", async ({ page, stack, signIn }) => {
  const session = await converse(
    stack,
    "Offers",
    save("offers.csv", "first", "text/csv"),
    save("offers.csv", "second one", "text/csv"),
  );
  await signIn(page);
  await page.goto(`/conversations/${session}`);
  await expect(section(page).getByRole("heading")).toHaveText("Artifacts 1");
  await expect(section(page)).toContainText("version 2");
  await expect(section(page)).toContainText("10 bytes");
  await expect(section(page)).toContainText("text/csv");
  const contentOf = async (version: number) => {
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      section(page)
        .getByRole("button", { name: `Download offers.csv, version ${version}` })
        .click(),
    ]);
    expect(file.suggestedFilename()).toBe("offers.csv");
    return readFile(await file.path(), "utf8");
  };
  expect(await contentOf(2)).toBe("second one");
  await expect(section(page).getByRole("button", { name: /version 1$/ })).toHaveCount(0);
  await section(page).getByText("1 older version").click();
  expect(await contentOf(1)).toBe("first");
});

test("details_show_the_checksum_to_copy", async ({ page, context, stack, signIn }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const session = await converse(stack, "Checked", save("a.txt", "abc"));
  await signIn(page);
  await page.goto(`/conversations/${session}`);
  await section(page).getByRole("button", { name: "Details of a.txt, version 1" }).press("Enter");
  const sum = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  const row = section(page).getByRole("definition").filter({ hasText: sum });
  await row.getByRole("button", { name: "Copy" }).click();
  await expect(row.getByRole("button", { name: "Copied" })).toBeVisible();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(sum);
});

test("address_names_its_host_and_opens_apart_from_the_page", async ({ page, stack, signIn }) => {
  const session = await converse(
    stack,
    "Addresses",
    [
      call("save_artifact", { name: "board", uri: "https://bank.example@evil.example/x?y=1" }),
      call("save_artifact", { name: "letter", uri: "mailto:a@b.example" }),
    ].join("\n"),
  );
  await signIn(page);
  await page.goto(`/conversations/${session}`);
  const link = section(page).getByRole("link", { name: "Open board, version 1, at evil.example" });
  await expect(link).toHaveAttribute("rel", "noopener noreferrer");
  await expect(link).toHaveAttribute("target", "_blank");
  await expect(section(page)).toContainText("at evil.example");
  await expect(section(page)).toContainText("https://bank.example@evil.example/x?y=1");
  await expect(section(page)).toContainText("mailto:a@b.example");
  await expect(section(page).getByRole("link", { name: /letter/ })).toHaveCount(0);
  await expect(section(page).getByRole("button", { name: /^Download/ })).toHaveCount(0);
});

test("content_that_cannot_be_had_is_explained", async ({ page, stack, signIn }) => {
  const session = await converse(stack, "Lost", save("lost.txt", "lost"));
  await rm(join(stack.home, "data", "artifacts"), { recursive: true });
  await signIn(page);
  await page.goto(`/conversations/${session}`);
  await section(page).getByRole("button", { name: "Download lost.txt, version 1" }).click();
  await expect(section(page).getByRole("alert")).toContainText(/missing/);
  await expect(page).toHaveURL(new RegExp(`/conversations/${session}$`));
});

test("run_shows_what_it_has_handed_in", async ({ page, stack, signIn }) => {
  await fireNew(stack, "monthly", save("report.md", "one"), { session: "continuous" });
  await stack.api("PATCH", "/automations/monthly", {
    prompt: `${save("report.md", "two")}\n${save("table.csv", "x")}`,
  });
  const second = await fire(stack, "monthly");
  await stack.api("PATCH", "/automations/monthly", { prompt: save("later.md", "three") });
  await fire(stack, "monthly");
  await signIn(page);
  await page.goto(`/runs/${second.id}`);
  const downloads = page.getByRole("button", { name: /^Download/ });
  await expect(downloads).toHaveCount(2);
  await expect(page.getByRole("button", { name: "Download report.md, version 2" })).toBeVisible();
  await expect(page.getByRole("button", { name: "Download table.csv, version 1" })).toBeVisible();
});

test("automation_lists_those_of_its_sessions_and_a_new_one_comes_by_itself", async ({
  page,
  stack,
  signIn,
}) => {
  await fireNew(stack, "fresh", save("report.md", "of the first session"));
  await fire(stack, "fresh");
  await signIn(page);
  await page.goto("/automations/fresh?tab=artifacts");
  const downloads = page.getByRole("button", { name: "Download report.md, version 1" });
  await expect(downloads).toHaveCount(2);
  await fire(stack, "fresh");
  await expect(downloads).toHaveCount(3);
});

test("viewer_downloads_and_an_automation_without_artifacts_says_so", async ({ page, stack, signIn }) => {
  await fireNew(stack, "seen", save("seen.txt", "seen"));
  await stack.api("POST", "/automations", { name: "idle", prompt: "x", agent: "claude" });
  await signIn(page, "viewer");
  await page.goto("/automations/seen?tab=artifacts");
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Download seen.txt, version 1" }).click(),
  ]);
  expect(await readFile(await file.path(), "utf8")).toBe("seen");
  await page.goto("/automations/idle?tab=artifacts");
  await expect(page.getByText(/^No artifact yet.*the tool save_artifact/)).toBeVisible();
  await expect(page.getByText("matins artifact list SESSION")).toBeVisible();
});

test("artifact_of_a_message_comes_into_the_open_conversation", async ({ page, stack, signIn }) => {
  const session = await converse(stack, "Open", "Hello.");
  await signIn(page);
  await page.goto(`/conversations/${session}`);
  await expect(composer(page)).toBeVisible();
  await say(stack, session, save("new.txt", "new"));
  await expect(section(page)).toContainText("new.txt");
});

test("artifacts_of_a_conversation_have_a_list_of_their_own", async ({ page, stack, signIn }) => {
  const session = await converse(stack, "Handed in", save("a.txt", "one"), save("a.txt", "two"));
  const empty = await converse(stack, "Nothing handed in");
  await signIn(page);
  await page.goto(`/conversations/${session}`);
  await section(page).getByRole("link", { name: "Artifacts" }).click();
  await expect(page).toHaveURL(new RegExp(`/conversations/${session}/artifacts$`));
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Artifacts");
  await expect(page.getByRole("button", { name: "Download a.txt, version 2" })).toBeVisible();
  await page.getByText("1 older version").click();
  await expect(page.getByRole("button", { name: "Download a.txt, version 1" })).toBeVisible();
  // Another turn hands in more while the list is open.
  await say(stack, session, save("b.txt", "three"));
  await expect(page.getByRole("button", { name: "Download b.txt, version 1" })).toBeVisible();
  await page.getByRole("navigation", { name: "Path" }).getByRole("link", { name: "Handed in" }).click();
  await expect(composer(page)).toBeVisible();
  await page.goto(`/conversations/${empty}`);
  await page.getByRole("button", { name: "Conversation menu" }).click();
  await page.getByRole("menuitem", { name: "Artifacts" }).click();
  await expect(page.getByText(/^No artifact yet/)).toBeVisible();
  await expect(page.getByText(`matins artifact list ${empty}`)).toBeVisible();
});
