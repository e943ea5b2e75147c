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
  await expect.poll(() => stack.metric("matins_traces_open")).toBe(2);
});

test("change_before_the_stream_begins_is_shown_after_a_slow_first_read", async ({ page, stack, signIn }) => {
  // A test reaches the requests of a page, but not those of a worker.
  await page.addInitScript(() => Reflect.deleteProperty(window, "SharedWorker"));
  const gate = () => {
    let open = () => {};
    const opened = new Promise<void>((done) => {
      open = done;
    });
    return { open, opened };
  };
  const [stream, oldRead, change] = [gate(), gate(), gate()];
  await page.route(/\/api\/v1\/trace/, async (route) => {
    await stream.opened;
    await route.continue();
  });
  await page.route(
    /\/api\/v1\/sessions\?/,
    async (route) => {
      const response = await route.fetch();
      oldRead.open();
      await change.opened;
      await route.fulfill({ response });
    },
    { times: 1 },
  );
  await signIn(page);
  const read = new Set<string>();
  page.on("request", (request) => {
    const { pathname } = new URL(request.url());
    if (/\/api\/v1\/(?!trace|whoami)/.test(pathname)) read.add(request.url());
  });
  await page.goto("/conversations");
  await oldRead.opened;
  await stack.api("POST", "/sessions", { agent: "claude", title: "Before the stream" });
  // Only a second read of an address shows the refetch, because a lazy part of the page reads late for the first time.
  const before = new Set(read);
  const refetched = page.waitForRequest((request) => before.has(request.url()));
  stream.open();
  await refetched;
  change.open();
  await expect(page.getByRole("link", { name: /Before the stream/ })).toBeVisible();
});

test("lost_server_is_found_again_without_another_request", async ({ page, stack, signIn }) => {
  const id = await converse(stack, "Found again");
  await signIn(page);
  await page.goto(`/conversations/${id}`);
  const title = page.getByRole("button", { name: "Found again" });
  await expect(title).toBeEnabled();
  await expect(page.getByText("Live", { exact: true })).toBeVisible();
  await expect(page.getByRole("status", { name: "Loading" })).toHaveCount(0);
  // The stream of events stays, because it belongs to no tab. An edit of the title reads it once.
  let probes = 0;
  await page.route("**/api/v1/**", (route) => {
    if (route.request().url().endsWith("/whoami")) probes += 1;
    return route.abort();
  });
  await title.click();
  const lost = page.getByText(/Lost .* ago/);
  await expect(lost).toBeVisible();
  await expect.poll(() => probes).toBeGreaterThan(1);
  await page.unroute("**/api/v1/**");
  await expect(lost).toBeHidden();
});
