import { environmentManager, QueryClient, QueryObserver } from "@tanstack/react-query";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Goal } from "../../api/types";
import { storedGoalOf, taskListOf } from "./goal-queries";

const GOAL = "/api/v1/goals/ses_1";
const TASKS = "/api/v1/sessions/ses_1/tasks";

type State = Goal["state"];

/** The state of the goal at the server. */
let state: State;
let paths: string[] = [];
let client: QueryClient;
let ends: (() => void)[] = [];

/** Observes the goal and its tasks, as their view does. */
async function observe(): Promise<void> {
  ends = [
    new QueryObserver(client, storedGoalOf("ses_1")).subscribe(() => undefined),
    new QueryObserver(client, taskListOf({ id: "ses_1", state })).subscribe(() => undefined),
  ];
  await vi.advanceTimersByTimeAsync(100);
  expect(paths).toEqual([GOAL, TASKS]);
  paths = [];
}

beforeEach(() => {
  vi.useFakeTimers();
  // Without a window, the queries would start no timers.
  environmentManager.setIsServer(() => false);
  state = "active";
  paths = [];
  client = new QueryClient({ defaultOptions: { queries: { staleTime: 30_000, retry: false } } });
  vi.stubGlobal("fetch", async (path: string) => {
    paths.push(path);
    return Response.json(path === GOAL ? { id: "ses_1", state } : { plan_version: 0, tasks: [] });
  });
});

afterEach(() => {
  for (const end of ends) end();
  client.clear();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test.each<State>(["active", "paused"])("%s_goal_and_its_tasks_are_read_again_without_event", async (now) => {
  state = now;
  await observe();
  await vi.advanceTimersByTimeAsync(14_000);
  expect(paths).toEqual([]);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(paths).toEqual([GOAL, TASKS]);
  await vi.advanceTimersByTimeAsync(15_000);
  expect(paths).toEqual([GOAL, TASKS, GOAL, TASKS]);
});

test.each<State>(["draft", "done", "failed"])("%s_goal_and_its_tasks_are_read_once", async (now) => {
  state = now;
  await observe();
  await vi.advanceTimersByTimeAsync(120_000);
  expect(paths).toEqual([]);
});

test("goal_that_ends_is_not_read_again", async () => {
  await observe();
  state = "done";
  await vi.advanceTimersByTimeAsync(15_000);
  expect(paths).toContain(GOAL);
  paths = [];
  await vi.advanceTimersByTimeAsync(120_000);
  expect(paths).not.toContain(GOAL);
});

test("hidden_page_reads_no_goal_again", async () => {
  vi.stubGlobal("document", { visibilityState: "hidden" });
  await observe();
  await vi.advanceTimersByTimeAsync(120_000);
  expect(paths).toEqual([]);
});
