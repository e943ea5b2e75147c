/** Goals of the demonstration agent, and the parts of their view. */
import type { Page } from "@playwright/test";
import { expect } from "./fixtures";
import type { Stack } from "./stack";

export const TEXT = "Write a short guide to tea: green, black and herbal.";
export const DONE_MS = 90_000;

interface Goal {
  id: string;
  state: string;
  tasks: { total: number; done: number };
}

export const start = (stack: Stack, more: object = {}): Promise<Goal> =>
  stack.api<Goal>("POST", "/goals", { goal: TEXT, team: "demo", ...more });

export const read = (stack: Stack, id: string): Promise<Goal> => stack.api<Goal>("GET", `/goals/${id}`);

/** Returns when a goal has a state. */
export async function reached(stack: Stack, id: string, state: string): Promise<void> {
  await expect.poll(async () => (await read(stack, id)).state, { timeout: DONE_MS }).toBe(state);
}

export const tasks = (page: Page) => page.getByRole("list", { name: "Tasks" }).getByRole("listitem");

export const node = (page: Page, key: string) =>
  page
    .getByRole("group", { name: "Graph of the tasks" })
    .getByRole("button", { name: new RegExp(`^${key},`) });

export const taskPanel = (page: Page, key: string) => page.getByRole("region", { name: `Task ${key}` });
