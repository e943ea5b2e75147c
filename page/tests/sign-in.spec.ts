import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { composer, expect, test } from "./fixtures";
import { converse } from "./stack";

// A server limits the attempts to sign in, and the tests of the shared server use them up.
test.use({ stackName: "sign-in" });

test("pasted_link_signs_in", async ({ page, stack }) => {
  await page.goto("/");
  const link = page.getByLabel("Link or code");
  await expect(link).toBeVisible();
  await link.fill(`${stack.url}/sign-in#mal_wrong`);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(link).toHaveAttribute("aria-invalid", "true");
  await link.fill(stack.url + (await stack.signInPath()));
  await page.keyboard.press("Enter");
  await expect(page.getByRole("navigation", { name: "Main" })).toBeVisible();
  await expect(page).toHaveTitle(/Matins/);
});

for (const [way, end] of [
  ["sign_out_in_another_tab", "sign-out"],
  ["revoked_token", "revoke"],
] as const) {
  test(`${way}_keeps_the_draft`, async ({ page, stack }) => {
    const id = await converse(stack, "Draft", "Hello.");
    const token = await stack.api<{ id: string; secret: string }>("POST", "/tokens", {
      name: way,
      role: "member",
    });
    const link = await stack.api<{ path: string }>("POST", "/sign-in-links", undefined, token.secret);
    await page.goto(link.path);
    await page.waitForURL((url) => url.pathname !== "/sign-in");
    await page.goto(`/conversations/${id}`);
    await composer(page).fill("A long thought that must not be lost");
    if (end === "revoke") await stack.api("DELETE", `/tokens/${token.id}`);
    else await page.evaluate(() => fetch("/api/v1/sign-in", { method: "DELETE" }));
    const dialog = page.getByRole("dialog", { name: "Your sign-in has ended" });
    // The live stream may notice it before the message does, and the dialog hides the field.
    await expect(async () => {
      if (!(await dialog.isVisible())) await composer(page).press("Enter", { timeout: 1_000 });
      await expect(dialog).toBeVisible({ timeout: 5_000 });
    }).toPass();
    await page.getByLabel("Link or code").fill(await stack.signInPath());
    await page.keyboard.press("Enter");
    await expect(page.getByRole("dialog")).toBeHidden();
    await expect(composer(page)).toHaveValue("A long thought that must not be lost");
  });
}

test("viewer_cannot_send", async ({ page, stack, signIn }) => {
  const id = await converse(stack, "Looked at", "Hello.");
  await signIn(page, "viewer");
  await page.goto(`/conversations/${id}`);
  await expect(page.getByText("Hello.").first()).toBeVisible();
  await expect(page.getByRole("button", { name: "Send" })).toBeDisabled();
});

test("foreign_page_neither_reads_nor_acts_nor_frames", async ({ browser, page, stack, signIn }) => {
  await signIn(page);
  const state = await page.context().storageState();
  const foreign = createServer((_, response) =>
    response.setHeader("Content-Type", "text/html").end("<iframe></iframe>"),
  );
  await new Promise<void>((done) => foreign.listen(0, "127.0.0.1", done));
  // Another name of the same machine: a foreign origin, to which the browser would send the cookie's site.
  const origin = `http://localhost:${(foreign.address() as AddressInfo).port}`;
  const context = await browser.newContext({ storageState: state });
  const evil = await context.newPage();
  await evil.goto(origin);
  const before = (await stack.api<{ items: object[] }>("GET", "/sessions?limit=100")).items.length;
  const outcomes = await evil.evaluate(async (url) => {
    const attempts: [string, RequestInit][] = [
      ["/api/v1/whoami", {}],
      ["/api/v1/sessions", { method: "POST", body: '{"agent":"claude","title":"Foreign"}', mode: "no-cors" }],
    ];
    return Promise.all(
      attempts.map(([path, init]) =>
        fetch(url + path, { credentials: "include", ...init }).then(
          (response) => response.type,
          () => "refused",
        ),
      ),
    );
  }, stack.url);
  expect(outcomes).toEqual(["refused", "refused"]);
  expect((await stack.api<{ items: object[] }>("GET", "/sessions?limit=100")).items).toHaveLength(before);
  const framed = evil.waitForEvent("console", (message) =>
    /frame-ancestors|refused to frame/i.test(message.text()),
  );
  await evil.evaluate((url) => {
    const frame = document.querySelector("iframe");
    if (frame) frame.src = url;
  }, stack.url);
  await framed;
  await context.close();
  foreign.close();
});
