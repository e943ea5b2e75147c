/** The fixtures of the tests in a browser: one server for each file, and checks that hold for every test. */
import { test as base, expect, type Page } from "@playwright/test";
import { type Database, type Role, type Stack, startStack } from "./stack";

interface TestFixtures {
  /** Fails the test if a page broke the content security policy, loaded something foreign, or threw an error. */
  watched: undefined;
  /** Signs a page in. */
  signIn(page: Page, role?: Role): Promise<void>;
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
    async ({ context, stack }, use) => {
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
      expect(faults).toEqual([]);
    },
    { auto: true },
  ],
  signIn: async ({ stack }, use) => {
    await use(async (page, role) => {
      await page.goto(await stack.signInPath(role));
      await expect(page.getByRole("navigation", { name: "Main" })).toBeVisible();
    });
  },
});

export { expect };

export const transcript = (page: Page) => page.getByRole("log", { name: "Transcript" });
export const composer = (page: Page) => page.getByRole("textbox", { name: "Message" });
