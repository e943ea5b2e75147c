/** The fixtures of the tests in a browser: one server for each file, and checks that hold for every test. */
import { test as base, type Cookie, expect, type Page, request } from "@playwright/test";
import { type Database, type Role, type Stack, startStack } from "./stack";

interface TestFixtures {
  /** Fails the test if a page broke the content security policy, loaded something foreign, or threw an error. */
  watched: undefined;
  /** Signs a page in, without a visit of the page. */
  signIn(page: Page, role?: Role): Promise<void>;
}

/** The cookies of signed-in browsers, by server and role: a server limits the attempts to sign in. */
const cookies = new Map<string, Promise<Cookie[]>>();

async function readCookies(stack: Stack, role: Role): Promise<Cookie[]> {
  const [, code] = (await stack.signInPath(role)).split("#");
  const browser = await request.newContext({ baseURL: stack.url });
  const answer = await browser.post("/api/v1/sign-in", { data: { code }, headers: { Origin: stack.url } });
  expect(answer.ok(), await answer.text()).toBe(true);
  const state = await browser.storageState();
  await browser.dispose();
  return state.cookies;
}

/** Prints what pages show, because a build server keeps the output of a failed test alone. */
async function print(pages: Page[]): Promise<void> {
  for (const page of pages) {
    const shown = await page.locator("body").ariaSnapshot({ timeout: 5_000 }).catch(String);
    console.log(`${page.url()} shows:\n${shown.slice(0, 8_000)}`);
  }
}

export const test = base.extend<TestFixtures, { stack: Stack; stackName: string; database: Database }>({
  // A file that needs a server without the data of other files gives it a name of its own.
  stackName: ["shared", { option: true, scope: "worker" }],
  database: ["sqlite", { option: true, scope: "worker" }],
  stack: [
    async ({ stackName, database }, use) => {
      const stack = await startStack(stackName, database);
      await use(stack);
      await stack.stop();
    },
    { scope: "worker" },
  ],
  baseURL: async ({ stack }, use) => use(stack.url),
  watched: [
    async ({ context, stack }, use, info) => {
      const faults: string[] = [];
      const watch = (page: Page) => {
        page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
        page.on("console", (message) => {
          if (/Content Security Policy/i.test(message.text())) faults.push(`policy: ${message.text()}`);
        });
      };
      for (const page of context.pages()) watch(page);
      context.on("page", watch);
      context.on("request", (request) => {
        const { protocol, origin } = new URL(request.url());
        if (protocol !== "data:" && protocol !== "blob:" && origin !== stack.url)
          faults.push(`foreign: ${request.url()}`);
      });
      await use(undefined);
      if (info.status !== info.expectedStatus) await print(context.pages());
      expect(faults).toEqual([]);
    },
    { auto: true },
  ],
  signIn: async ({ stack }, use) => {
    await use(async (page, role = "admin") => {
      const key = `${stack.url} ${role}`;
      let found = cookies.get(key);
      if (found === undefined) {
        found = readCookies(stack, role);
        cookies.set(key, found);
      }
      await page.context().addCookies(await found);
    });
  },
});

export { expect };

type Release = "continue" | "abort" | "lose";

/** A request that has reached the browser's network and not the server. */
export interface Held {
  /** Returns once the page has sent the request. */
  sent: Promise<void>;
  /** Sends it on, makes it fail as without a connection, or sends it on and loses the response. */
  release(how?: Release): void;
}

/** Holds the next request of a method and a path back, until the test releases it. */
export async function holdBack(page: Page, method: string, path: RegExp): Promise<Held> {
  let release: Held["release"] = () => {};
  const released = new Promise<Release>((done) => {
    release = (how = "continue") => done(how);
  });
  let arrive = () => {};
  const sent = new Promise<void>((done) => {
    arrive = done;
  });
  let isHeld = false;
  await page.route(path, async (route) => {
    if (isHeld || route.request().method() !== method) return route.fallback();
    isHeld = true;
    arrive();
    const how = await released;
    if (how === "continue") return route.continue();
    if (how === "lose") await route.fetch();
    await route.abort();
  });
  return { sent, release };
}

export const transcript = (page: Page) => page.getByRole("log", { name: "Transcript" });
export const composer = (page: Page) => page.getByRole("textbox", { name: "Message" });
