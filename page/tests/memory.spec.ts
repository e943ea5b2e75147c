import type { Page } from "@playwright/test";
import { composer, expect, test } from "./fixtures";
import { call, converse, fire, fireNew, type Stack, say } from "./stack";

test.use({ stackName: "memory" });

interface Entry {
  value: string;
  author: string;
  run_id: string | null;
  unconfirmed: boolean;
  version: number;
  expires_at: string | null;
}

const entryOf = (stack: Stack, automation: string, key: string): Promise<Entry> =>
  stack.api("GET", `/automations/${automation}/memory/${encodeURIComponent(key)}`);

const entries = (page: Page) => page.getByRole("list", { name: "Memory entries" }).getByRole("listitem");

async function choose(page: Page, key: string, action: string): Promise<void> {
  await page.getByRole("button", { name: `Actions of ${key}`, exact: true }).click();
  await page.getByRole("menuitem", { name: action }).click();
}

/** Opens the tab by its name, as a person does. */
async function open(page: Page, automation: string): Promise<void> {
  await page.goto(`/automations/${automation}`);
  await page.getByRole("tab", { name: "Memory" }).click();
  await expect(page).toHaveURL(/\?tab=memory$/);
}

test("empty_memory_names_the_tool_and_the_command", async ({ page, stack, signIn }) => {
  await stack.api("POST", "/automations", { name: "quiet one", prompt: "x", agent: "claude" });
  await signIn(page);
  await open(page, "quiet one");
  await expect(page.getByText(/^Nothing yet.*the tool remember/)).toBeVisible();
  await expect(page.getByText("matins memory set --automation 'quiet one' KEY VALUE")).toBeVisible();
});

test("entry_of_a_failed_run_is_doubted_until_a_person_confirms_it", async ({ page, stack, signIn }) => {
  const hostile = '<img src=x onerror="document.title=1"> [a](javascript:alert(1)) **not bold**';
  const { id } = await fireNew(
    stack,
    "doubted",
    `${call("remember", { key: "state", value: hostile, confidence: 0.8, ttl_hours: 24 })}\nthen fail`,
  );
  const before = await entryOf(stack, "doubted", "state");
  await signIn(page);
  await open(page, "doubted");
  const row = entries(page).filter({ hasText: "state" });
  await expect(row).toContainText("unconfirmed");
  await expect(row).toContainText(hostile);
  await expect(row.locator("img, strong:has-text('not bold')")).toHaveCount(0);
  await expect(row).toContainText("confidence 0.8");
  await expect(row).toContainText("until ");
  await expect(row.getByRole("link", { name: /^run / })).toHaveAttribute("href", `/runs/${id}`);
  await choose(page, "state", "Confirm");
  await expect(page.getByText("“state” is confirmed")).toBeVisible();
  await expect(row).not.toContainText("unconfirmed");
  const after = await entryOf(stack, "doubted", "state");
  expect(after).toMatchObject({ value: hostile, run_id: null, unconfirmed: false, version: before.version });
  expect(after.expires_at).toBe(before.expires_at);
});

test("long_value_is_folded_until_it_is_asked_for", async ({ page, stack, signIn }) => {
  const value = Array.from({ length: 60 }, (_, line) => `line ${line + 1}.`).join("\n");
  await stack.api("POST", "/automations", { name: "long", prompt: "x", agent: "claude" });
  await stack.api("PUT", "/automations/long/memory/log", { value });
  await signIn(page);
  await open(page, "long");
  const row = entries(page).filter({ hasText: "log" });
  await expect(row).toContainText("line 4.");
  await expect(row).not.toContainText("line 5.");
  await row.getByRole("button", { name: "Show all, 60 lines" }).click();
  await expect(row).toContainText("line 60.");
  await row.getByRole("button", { name: "Show less" }).click();
  await expect(row).not.toContainText("line 5.");
});

test("entry_is_added_changed_and_deleted_by_keyboard_and_brought_back", async ({ page, stack, signIn }) => {
  await stack.api("POST", "/automations", { name: "typed", prompt: "x", agent: "claude" });
  await signIn(page);
  await open(page, "typed");
  await page.getByRole("button", { name: "Add an entry" }).focus();
  await page.keyboard.press("Enter");
  const added = page.getByRole("dialog", { name: "Add an entry" });
  await expect(added.getByLabel("Key")).toBeFocused();
  await page.keyboard.type("a/key?");
  await page.keyboard.press("Tab");
  await page.keyboard.type("first");
  await page.keyboard.press("Tab");
  await expect(added.getByLabel("Confidence")).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.getByText("“a/key?” is added")).toBeVisible();
  const actions = page.getByRole("button", { name: "Actions of a/key?" });
  await actions.focus();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("menuitem", { name: "Edit…" })).toBeFocused();
  await page.keyboard.press("Enter");
  const edited = page.getByRole("dialog", { name: "Edit “a/key?”" });
  await edited.getByLabel("Value").fill("second");
  await edited.getByLabel("Expires").fill("2031-05-06T07:08");
  await edited.getByRole("button", { name: "Save" }).press("Enter");
  await expect(page.getByText("“a/key?” is saved")).toBeVisible();
  await expect(actions).toBeFocused();
  expect(await entryOf(stack, "typed", "a/key?")).toMatchObject({ value: "second", version: 2 });
  await expect(entries(page)).toContainText("until 6 May 2031 07:08");
  await actions.focus();
  await page.keyboard.press("Enter");
  await page.getByRole("menuitem", { name: "Delete" }).press("Enter");
  await expect(actions).toHaveCount(0);
  await page.getByRole("button", { name: "Undo" }).press("Enter");
  await expect(entries(page)).toContainText("second");
  const { expires_at: end } = await entryOf(stack, "typed", "a/key?");
  // In Prague it is summer then.
  expect(Date.parse(end ?? "")).toBe(Date.parse("2031-05-06T05:08:00Z"));
});

test("keys_right_after_the_choice_of_an_action_land_in_its_dialog", async ({ page, stack, signIn }) => {
  await stack.api("POST", "/automations", { name: "fast", prompt: "x", agent: "claude" });
  await stack.api("PUT", "/automations/fast/memory/k", { value: "old" });
  await signIn(page);
  await open(page, "fast");
  const actions = page.getByRole("button", { name: "Actions of k" });
  await actions.press("Enter");
  await expect(page.getByRole("menuitem", { name: "Edit…" })).toBeFocused();
  const value = await page.evaluate(async () => {
    const enter = new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true });
    document.activeElement?.dispatchEvent(enter);
    // Microtasks alone, so that no task of the page is before the next key.
    for (let turn = 0; turn < 50; turn += 1) await null;
    document.execCommand("insertText", false, "new ");
    return document.activeElement instanceof HTMLTextAreaElement ? document.activeElement.value : null;
  });
  expect(value).toBe("new old");
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toBeHidden();
  await expect(actions).toBeFocused();
});

test("undo_of_a_deletion_writes_over_no_newer_entry", async ({ page, stack, signIn }) => {
  await stack.api("POST", "/automations", { name: "undone", prompt: "x", agent: "claude" });
  await stack.api("PUT", "/automations/undone/memory/k", { value: "old" });
  await signIn(page);
  await open(page, "undone");
  await choose(page, "k", "Delete");
  await expect(page.getByText("“k” is deleted")).toBeVisible();
  await stack.api("PUT", "/automations/undone/memory/k", { value: "newer" });
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(page.getByText("“k” has changed meanwhile")).toBeVisible();
  expect((await entryOf(stack, "undone", "k")).value).toBe("newer");
});

test("deletion_of_an_agents_entry_asks_first", async ({ page, stack, signIn }) => {
  await fireNew(stack, "asked", call("remember", { key: "fact", value: "from a run" }));
  await signIn(page);
  await open(page, "asked");
  await choose(page, "fact", "Delete…");
  const dialog = page.getByRole("dialog", { name: "Delete “fact”?" });
  await expect(dialog).toContainText("claude wrote it in a run");
  await dialog.getByRole("button", { name: "Keep" }).click();
  await expect(page.getByRole("button", { name: "Actions of fact" })).toBeFocused();
  await expect(entries(page)).toContainText("from a run");
  await choose(page, "fact", "Delete…");
  await dialog.getByRole("button", { name: "Delete" }).click();
  await expect(page.getByText(/^Nothing yet/)).toBeVisible();
});

test("deletion_of_an_entry_that_is_gone_counts_as_done", async ({ page, stack, signIn }) => {
  await fireNew(stack, "twice", call("remember", { key: "fact", value: "from a run" }));
  await signIn(page);
  await open(page, "twice");
  await choose(page, "fact", "Delete…");
  const dialog = page.getByRole("dialog", { name: "Delete “fact”?" });
  await expect(dialog).toBeVisible();
  await stack.api("DELETE", "/automations/twice/memory/fact");
  await dialog.getByRole("button", { name: "Delete" }).click();
  await expect(dialog).toBeHidden();
  await expect(page.getByText(/^Nothing yet/)).toBeVisible();
});

test("refused_field_gets_the_focus_and_nothing_is_lost", async ({ page, stack, signIn }) => {
  await stack.api("POST", "/automations", { name: "refused", prompt: "x", agent: "claude" });
  await signIn(page);
  await open(page, "refused");
  await page.getByRole("button", { name: "Add an entry" }).click();
  const dialog = page.getByRole("dialog", { name: "Add an entry" });
  const add = dialog.getByRole("button", { name: "Add", exact: true });
  await dialog.getByLabel("Value").fill("kept");
  await add.click();
  await expect(dialog.getByLabel("Key")).toBeFocused();
  await expect(dialog).toContainText("An entry needs a key.");
  // Browsers would ask for another resource.
  await dialog.getByLabel("Key").fill("..");
  await add.click();
  await expect(dialog).toContainText("has no address in the API");
  await dialog.getByLabel("Key").fill("k".repeat(201));
  await add.click();
  await expect(dialog.getByLabel("Key")).toBeFocused();
  await expect(dialog).toContainText("1 to 200 bytes");
  await dialog.getByLabel("Key").fill("k");
  await dialog.getByLabel("Confidence").fill("1.5");
  await add.click();
  await expect(dialog.getByLabel("Confidence")).toBeFocused();
  await expect(dialog).toContainText("accepted are numbers from 0 to 1");
  await dialog.getByLabel("Confidence").fill("0.5");
  await dialog.getByLabel("Expires").fill("2001-01-01T00:00");
  await add.click();
  await expect(dialog).toContainText("accepted is a later instant");
  await expect(dialog.getByLabel("Expires")).toBeFocused();
  await dialog.getByLabel("Expires").fill("");
  await dialog.getByLabel("Value").fill("x".repeat(16_385));
  await add.click();
  await expect(dialog.getByLabel("Value")).toBeFocused();
  await expect(dialog).toContainText("16385 bytes");
  await dialog.getByLabel("Value").fill("kept");
  await add.click();
  await expect(entries(page)).toContainText("confidence 0.5");
});

test("edit_conflict_shows_the_stored_version_beside_the_form", async ({ page, stack, signIn }) => {
  await stack.api("POST", "/automations", { name: "fought", prompt: "x", agent: "claude" });
  await stack.api("PUT", "/automations/fought/memory/k", { value: "before" });
  await signIn(page);
  await open(page, "fought");
  await choose(page, "k", "Edit…");
  const dialog = page.getByRole("dialog", { name: "Edit “k”" });
  await dialog.getByRole("textbox", { name: "Value" }).fill("mine");
  await stack.api("PUT", "/automations/fought/memory/k", { value: "theirs", confidence: 0.3 });
  await dialog.getByRole("button", { name: "Save" }).click();
  const stored = dialog.getByRole("alert", { name: "Changed meanwhile" });
  await expect(stored).toContainText("theirs");
  await expect(dialog.getByRole("textbox", { name: "Value" })).toHaveValue("mine");
  await stored.getByRole("button", { name: "Take it: the stored confidence" }).click();
  await expect(dialog.getByRole("spinbutton", { name: "Confidence" })).toHaveValue("0.3");
  expect((await entryOf(stack, "fought", "k")).value).toBe("theirs");
  await dialog.getByRole("button", { name: "Replace it" }).click();
  await expect(page.getByText("“k” is saved")).toBeVisible();
  expect(await entryOf(stack, "fought", "k")).toMatchObject({ value: "mine", confidence: 0.3 });
  // A new entry writes over no other one unseen either.
  await page.getByRole("button", { name: "Add an entry" }).click();
  const added = page.getByRole("dialog", { name: "Add an entry" });
  await added.getByLabel("Key").fill("k");
  await added.getByRole("button", { name: "Add", exact: true }).click();
  await expect(added.getByRole("alert")).toContainText("There is an entry with this key.");
  await page.keyboard.press("Escape");
  expect((await entryOf(stack, "fought", "k")).value).toBe("mine");
});

test("filter_finds_keys_and_values_and_stays_in_the_address", async ({ page, stack, signIn }) => {
  await stack.api("POST", "/automations", { name: "found", prompt: "x", agent: "claude" });
  await stack.api("PUT", "/automations/found/memory/colour", { value: "red" });
  await stack.api("PUT", "/automations/found/memory/reddish", { value: "no" });
  await stack.api("PUT", "/automations/found/memory/size", { value: "small" });
  await signIn(page);
  await open(page, "found");
  await expect(entries(page)).toHaveCount(3);
  await page.keyboard.press("/");
  await page.keyboard.type("RED");
  await expect(entries(page)).toHaveCount(2);
  await expect(page).toHaveURL(/tab=memory&text=RED$/);
  await page.reload();
  await expect(entries(page)).toHaveCount(2);
  await page.getByRole("searchbox").fill("nowhere");
  await expect(page.getByText("No key and no value has “nowhere”.")).toBeVisible();
});

test("viewer_reads_memory_and_cannot_change_it", async ({ page, stack, signIn }) => {
  await stack.api("POST", "/automations", { name: "read", prompt: "x", agent: "claude" });
  await stack.api("PUT", "/automations/read/memory/k", { value: "to be read" });
  await signIn(page, "viewer");
  await open(page, "read");
  await expect(entries(page)).toContainText("to be read");
  const add = page.getByRole("button", { name: "Add an entry" });
  await expect(add).toBeDisabled();
  await expect(add).toHaveAttribute("title", /needs automations:write/);
  await page.getByRole("button", { name: "Actions of k" }).click();
  for (const action of ["Edit…", "Delete"]) {
    const item = page.getByRole("menuitem", { name: action });
    await expect(item).toHaveAttribute("aria-disabled", "true");
    await expect(item).toContainText("needs automations:write");
  }
});

test("end_of_a_run_shows_what_it_has_written", async ({ page, stack, signIn }) => {
  await fireNew(stack, "live", call("remember", { key: "first", value: "one" }));
  await signIn(page);
  await open(page, "live");
  await expect(entries(page)).toHaveCount(1);
  await stack.api("PATCH", "/automations/live", {
    prompt: call("remember", { key: "second", value: "two" }),
  });
  await fire(stack, "live");
  await expect(entries(page)).toHaveCount(2);
  await expect(entries(page).filter({ hasText: "two" })).not.toContainText("unconfirmed");
});

test("conversation_has_its_own_memory_and_links_to_that_of_its_automations", async ({
  page,
  stack,
  signIn,
}) => {
  const session = await converse(stack, "With memory", "Hello.");
  await stack.api("POST", "/automations", { name: "guest", prompt: "x", session: `bound:${session}` });
  await signIn(page);
  await page.goto(`/conversations/${session}`);
  await expect(composer(page)).toBeVisible();
  const memory = page.getByRole("region", { name: "Memory" });
  await expect(memory).toContainText("Nothing of its own yet.");
  await expect(memory).toContainText(`matins memory set --session ${session} KEY VALUE`);
  await say(stack, session, call("remember", { key: "spoken", value: "in a turn of a person" }));
  await expect(memory).toContainText("in a turn of a person");
  await memory.getByRole("button", { name: "Add an entry" }).click();
  const dialog = page.getByRole("dialog", { name: "Add an entry" });
  await dialog.getByLabel("Key").fill("mine");
  await dialog.getByLabel("Value").fill("by hand");
  await dialog.getByRole("button", { name: "Add", exact: true }).click();
  await expect(memory).toContainText("by hand");
  expect((await stack.api<Entry>("GET", `/sessions/${session}/memory/mine`)).run_id).toBeNull();
  await memory.getByRole("link", { name: "guest" }).click();
  await expect(page.getByRole("tab", { name: "Memory" })).toHaveAttribute("aria-selected", "true");
  await expect(page.getByRole("heading", { level: 1, name: "guest" })).toBeVisible();
});

test("session_of_a_fresh_run_links_to_the_memory_of_its_automation", async ({ page, stack, signIn }) => {
  const { session_id: session } = await fireNew(
    stack,
    "forgetful",
    call("remember", { key: "kept", value: "for the automation" }),
  );
  await signIn(page);
  await page.goto(`/conversations/${session}`);
  await page.getByRole("region", { name: "Memory" }).getByRole("link", { name: "its automation" }).click();
  await expect(entries(page)).toContainText("for the automation");
});
