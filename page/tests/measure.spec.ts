/**
 * Measures the page, for docs/reference/benchmarks.md: `MEASURE=1 scripts/test-page measure`. It checks nothing but that
 * the measured work was there, because times belong to a machine.
 */
import type { Browser, Page } from "@playwright/test";
import { composer, expect, test, transcript } from "./fixtures";
import { sentBytes } from "./sent-bytes";
import { type Stack, seedAutomations, startStack } from "./stack";

const ROUNDS = 5;
const TURNS = 10;
/** The turn on the screen brings 50 updates a second. The others bring 5 each. */
const SHOWN_MS = 20;
const OTHERS_MS = 200;
const SLOWDOWN = 4;

test.describe.configure({ mode: "serial" });
test.skip(process.env.MEASURE === undefined, "times are for people");

let stack: Stack;
test.beforeAll(async () => {
  test.setTimeout(300_000);
  stack = await startStack("measure", "sqlite", { MATINS_WORKERS: `${TURNS}` });
  await seedAutomations(stack);
});
test.afterAll(() => stack?.stop());

const median = (values: number[]) =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

function report(what: string, values: number[], unit: string): void {
  const rounded = values.map((value) => Math.round(value * 10) / 10);
  console.log(`${what}: median ${Math.round(median(values) * 10) / 10} ${unit} of ${rounded.join(", ")}`);
}

async function open(browser: Browser, slowdown: number): Promise<Page> {
  const context = await browser.newContext({ baseURL: stack.url });
  const page = await context.newPage();
  await page.goto(await stack.signInPath());
  await page.waitForURL((url) => url.pathname !== "/sign-in");
  const devTools = await context.newCDPSession(page);
  await devTools.send("Emulation.setCPUThrottlingRate", { rate: slowdown });
  return page;
}

test("first_load", async ({ browser }) => {
  const page = await open(browser, 1);
  const devTools = await page.context().newCDPSession(page);
  await devTools.send("Network.setCacheDisabled", { cacheDisabled: true });
  const urls: string[] = [];
  page.on("request", (request) => urls.push(request.url()));
  await page.goto("/");
  await expect(page.getByRole("region", { name: "Timeline" })).toBeVisible();
  const files = urls.filter((url) => /\.(js|css)$/.test(new URL(url).pathname));
  const data = urls.filter((url) => new URL(url).pathname.startsWith("/api/"));
  const bytes = await Promise.all(files.map(sentBytes));
  const sum = bytes.reduce((total, each) => total + each, 0);
  console.log(`first load: ${files.length} files of JavaScript and CSS with ${sum} bytes in gzip`);
  console.log(`first load: ${urls.length} requests, ${data.length} of them for data`);
  expect(files.length).toBeGreaterThan(0);
  await page.context().close();
});

for (const slowdown of [1, SLOWDOWN]) {
  test(`overview_with_cpu_${slowdown}_times_slower`, async ({ browser }) => {
    test.setTimeout(300_000);
    const shown: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const page = await open(browser, slowdown);
      const devTools = await page.context().newCDPSession(page);
      await devTools.send("Network.setCacheDisabled", { cacheDisabled: true });
      await page.addInitScript(() => {
        new MutationObserver((_, observer) => {
          // All three parts of the overview have their data.
          const isShown = ["Needs you", "Next runs", "Timeline", "Cost and usage"].every((name) =>
            document.querySelector(`[aria-label="${name}"]`),
          );
          if (!isShown) return;
          observer.disconnect();
          requestAnimationFrame(() => setTimeout(() => performance.mark("shown")));
        }).observe(document, { childList: true, subtree: true });
      });
      await page.goto("/");
      await page.waitForFunction(() => performance.getEntriesByName("shown").length > 0);
      shown.push(await page.evaluate(() => performance.getEntriesByName("shown")[0]?.startTime ?? 0));
      await page.context().close();
    }
    report(`overview shown, CPU ${slowdown} times slower`, shown, "ms");
  });
}

test("input_while_ten_turns_stream", async ({ browser }) => {
  test.setTimeout(600_000);
  const inp: number[] = [];
  const updates: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const sessions: string[] = [];
    for (let turn = 0; turn < TURNS; turn += 1) {
      const { id } = await stack.api<{ id: string }>("POST", "/sessions", {
        agent: "claude",
        title: `Round ${round + 1}, turn ${turn + 1}`,
      });
      sessions.push(id);
      const text = `Write, words ${turn === 0 ? SHOWN_MS : OTHERS_MS} ms apart.`;
      await stack.api("POST", `/sessions/${id}/messages`, { text });
    }
    await expect
      .poll(async () => (await stack.api<{ counts: { running: number } }>("GET", "/overview")).counts.running)
      .toBe(TURNS);
    const page = await open(browser, SLOWDOWN);
    await page.goto(`/conversations/${sessions[0]}`);
    await expect(transcript(page).getByText("Version 0.2 is").first()).toBeVisible();
    await page.evaluate(() => {
      const seen = { slowest: 0, by: "", frames: 0, began: performance.now() };
      Object.assign(window, { seen });
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries() as (PerformanceEntry & { interactionId: number })[])
          if (entry.interactionId > 0 && entry.duration > seen.slowest) {
            seen.slowest = entry.duration;
            seen.by = `${entry.name} ${Math.round(entry.startTime - seen.began)} ms after the first`;
          }
      }).observe({ type: "event", durationThreshold: 16, buffered: false } as PerformanceObserverInit);
      const log = document.querySelector('[role="log"]');
      let length = log?.textContent?.length ?? 0;
      new MutationObserver(() => {
        const next = log?.textContent?.length ?? 0;
        if (next !== length) seen.frames += 1;
        length = next;
      }).observe(document.body, { childList: true, subtree: true, characterData: true });
    });
    const began = Date.now();
    await composer(page).click();
    for (const key of "How long will this take?") {
      await page.keyboard.press(key === " " ? "Space" : key);
      await page.waitForTimeout(100);
    }
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+k");
    await expect(page.getByRole("dialog", { name: "Find or do" })).toBeVisible();
    await page.keyboard.press("r");
    await page.waitForTimeout(100);
    await page.keyboard.press("Escape");
    await page.waitForTimeout(500);
    const seen = await page.evaluate(
      () => (window as unknown as { seen: { slowest: number; by: string; frames: number } }).seen,
    );
    console.log(`slowest interaction of round ${round + 1}: ${seen.by}, ${seen.slowest} ms`);
    inp.push(seen.slowest);
    updates.push(seen.frames / ((Date.now() - began) / 1_000));
    await page.context().close();
    for (const id of sessions) await stack.api("POST", `/sessions/${id}/cancel`);
    await expect
      .poll(async () => (await stack.api<{ counts: { running: number } }>("GET", "/overview")).counts.running)
      .toBe(0);
  }
  report("INP while ten turns stream, CPU 4 times slower", inp, "ms");
  report("changes of the text on the screen", updates, "a second");
  expect(Math.min(...updates)).toBeGreaterThan(1);
});
