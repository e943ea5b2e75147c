import { join } from "node:path";
import { composer, expect, test, transcript } from "./fixtures";

test.use({ stackName: "settings" });

test("agent_is_added_checked_and_removed", async ({ page, stack, signIn }) => {
  await signIn(page);
  await page.goto("/");
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Settings" }).click();
  await expect(page).toHaveURL(/\/settings\/agents$/);
  await page.getByRole("button", { name: "Add an agent" }).click();
  const dialog = page.getByRole("dialog", { name: "Add an agent" });
  await dialog.getByLabel("Name").fill("helper");
  await dialog.getByLabel("Command").fill("/bin/false --acp");
  await dialog.getByRole("button", { name: "Add", exact: true }).click();
  const row = page.getByRole("listitem").filter({ hasText: "helper" });
  await expect(row).toContainText("/bin/false --acp");
  await row.getByRole("button", { name: "Check" }).click();
  await expect(page.getByText(/^helper: /)).toBeVisible();
  await stack.api("POST", "/automations", { name: "user", prompt: "x", agent: "helper" });
  await row.getByRole("button", { name: "Remove helper" }).click();
  const confirm = page.getByRole("dialog", { name: "Remove the agent helper?" });
  await confirm.getByRole("button", { name: "Remove" }).click();
  // The refusal names what uses the agent.
  await expect(confirm.getByRole("alert").getByRole("listitem")).toHaveText(["user"]);
  await stack.api("DELETE", "/automations/user");
  await confirm.getByRole("button", { name: "Remove" }).click();
  await expect(row).toHaveCount(0);
});

test("first_agent_gives_a_first_answer", async ({ page, signIn }) => {
  await signIn(page);
  await page.goto("/settings/agents");
  await page.getByRole("button", { name: "Add an agent" }).click();
  const dialog = page.getByRole("dialog", { name: "Add an agent" });
  await dialog.getByLabel("Name").fill("scribe");
  await dialog.getByLabel("Command").fill(`${process.execPath} ${import.meta.dirname}/agent.mjs`);
  await dialog.getByRole("button", { name: "Add", exact: true }).click();
  const row = page.getByRole("listitem").filter({ hasText: "scribe" });
  await row.getByRole("button", { name: "Check" }).click();
  await expect(page.getByText("scribe started, version 1")).toBeVisible();
  await page.goto("/conversations?new=1");
  await page.getByLabel("Agent").selectOption("scribe");
  await composer(page).fill("Show me the code.");
  await page.getByRole("button", { name: "Begin" }).click();
  await expect(page).toHaveURL(/\/conversations\/ses_/);
  await expect(transcript(page).getByText("The function keeps the order")).toBeVisible();
});

test("token_is_shown_once_and_revoked", async ({ page, stack, signIn }) => {
  await signIn(page);
  await page.goto("/settings/tokens");
  await page.getByRole("button", { name: "New token" }).click();
  const dialog = page.getByRole("dialog", { name: "New token" });
  await dialog.getByLabel("Name").fill("laptop");
  await dialog.getByLabel("Role").selectOption("viewer");
  await dialog.getByRole("button", { name: "Make it" }).click();
  const secret = await page
    .locator("code")
    .filter({ hasText: /^mat_\w{40,}$/ })
    .textContent();
  expect(await stack.api("GET", "/whoami", undefined, secret ?? "")).toMatchObject({ role: "viewer" });
  await page.getByRole("button", { name: "Done" }).click();
  await expect(page.getByText(secret ?? "")).toHaveCount(0);
  await page.getByRole("button", { name: "Revoke laptop" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await expect(page.getByText("laptop is revoked")).toBeVisible();
  await expect(stack.api("GET", "/whoami", undefined, secret ?? "")).rejects.toThrow(/401/);
});

test("endpoint_is_added_disabled_and_deleted", async ({ page, signIn }) => {
  await signIn(page);
  await page.goto("/settings/notifications");
  await expect(page.getByText(/^No endpoint yet/)).toBeVisible();
  await page.getByRole("button", { name: "New endpoint" }).click();
  const dialog = page.getByRole("dialog", { name: "New endpoint" });
  await dialog.getByLabel("Name").fill("alerts");
  await dialog.getByLabel("URL").fill("nonsense");
  await dialog.getByRole("button", { name: "Add", exact: true }).click();
  await expect(dialog.getByRole("alert")).toContainText("url");
  await dialog.getByLabel("URL").fill("https://example.com/hook");
  await dialog.getByRole("button", { name: "Add", exact: true }).click();
  await expect(page.getByText(/^whsec_/)).toBeVisible();
  const row = page.getByRole("listitem").filter({ hasText: "alerts" });
  await row.getByRole("button", { name: "Disable" }).click();
  await expect(row).toContainText("disabled");
  await row.getByRole("button", { name: "Delete alerts" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await expect(row).toHaveCount(0);
});

test("budget_of_tenant_is_set_and_shown_in_the_overview", async ({ page, signIn }) => {
  await signIn(page);
  await page.goto("/settings/tenants");
  await page.getByRole("button", { name: "Budget of default" }).click();
  const dialog = page.getByRole("dialog", { name: "Budget of default" });
  await dialog.getByLabel("Cost a day").fill("10");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("$10.00 a day")).toBeVisible();
});

test("hidden_characters_of_names_are_shown", async ({ page, stack, signIn }) => {
  const [name, shown] = ["evil\u202egpj", "evil\\u{202e}gpj"];
  const config = { command: ["/bin/false", "--as\u200b"] };
  await stack.api("PUT", `/agents/${encodeURIComponent(name)}`, config);
  await stack.api("POST", "/instances", { name, kind: "directory", folder: join(stack.home, "hidden") });
  await stack.api("POST", "/tokens", { name, role: "viewer" });
  await stack.api("POST", "/tenants", { name });
  await stack.api("POST", "/endpoints", { name, url: "https://example.com/hook", events: ["run.failed"] });
  await signIn(page);
  for (const [section, action] of [
    ["agents", "Remove"],
    ["instances", "Remove"],
    ["tokens", "Revoke"],
    ["notifications", "Delete"],
    ["tenants", "Budget of"],
  ]) {
    await page.goto(`/settings/${section}`);
    await expect(page.getByText(shown, { exact: true })).toBeVisible();
    await page.getByRole("button", { name: `${action} ${shown}` }).click();
    await expect(page.getByRole("dialog")).toContainText(shown);
    await page.keyboard.press("Escape");
    expect(await page.locator("body").innerHTML()).not.toContain(name);
  }
  await page.goto("/settings/agents");
  await expect(page.getByText("/bin/false --as\\u{200b}")).toBeVisible();
});

test("viewer_sees_agents_and_no_tokens", async ({ page, signIn }) => {
  await signIn(page, "viewer");
  await page.goto("/settings/agents");
  await expect(page.getByRole("button", { name: "Add an agent" })).toBeDisabled();
  await page.getByRole("link", { name: "Tokens" }).click();
  await expect(page.getByText("it needs tokens:read")).toBeVisible();
  await page.getByRole("link", { name: "Appearance" }).click();
  await page.getByLabel("Dark").check();
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
});
