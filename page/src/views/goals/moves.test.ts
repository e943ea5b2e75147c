import { describe, expect, it, test } from "vitest";
import { ApiProblem } from "../../api/problem";
import type { Goal, Task } from "../../api/types";
import { adviceOf, endedText, outcomeText, reachedField, replanText, stillReachedText } from "./moves";

const goalOf = (more: object) =>
  ({
    title: "Tea",
    goal: "Write of tea.",
    state: "active",
    reason: null,
    cause: null,
    seats: [],
    limit_usage: [],
    limits: {},
    plan_version: 1,
    replans: 0,
    replan_limit: 5,
    ...more,
  }) as unknown as Goal;

const USED_UP = [
  { limit: "tokens", level: "enough", text: "700 of 1000, 300 left", note: null },
  { limit: "turns", level: "used_up", text: "4 of 4, used up", note: null },
  { limit: "time", level: "used_up", text: "used up 4m ago", note: null },
];

describe("outcomeText", () => {
  it("goal_that_goes_on_is_resumed", () => {
    expect(outcomeText(goalOf({}), "resume")).toBe("Tea is resumed");
    expect(outcomeText(goalOf({ state: "paused", reason: "person" }), "pause")).toBe("Tea is paused");
  });

  it("goal_with_a_used_up_limit_cannot_go_on", () => {
    const goal = goalOf({ state: "paused", reason: "budget", limit_usage: USED_UP });
    expect(outcomeText(goal, "resume")).toBe(
      "Tea cannot go on: turns: 4 of 4, used up; time: used up 4m ago",
    );
  });

  it("goal_that_stays_stuck_says_its_cause", () => {
    const goal = goalOf({ state: "paused", reason: "stuck", cause: "no plan" });
    expect(outcomeText(goal, "resume")).toBe("Tea cannot go on: stuck: no plan");
  });
});

test("raised_limit_that_is_still_reached_says_which_and_how_far", () => {
  const limit_usage = [{ limit: "tokens", level: "low", text: "950 of 1000, 50 left", note: null }];
  expect(stillReachedText(goalOf({ state: "paused", reason: "budget", limit_usage }))).toBe(
    "It is saved. Tea cannot go on: tokens: 950 of 1000, 50 left. A goal goes on below 90 % of each limit.",
  );
  expect(stillReachedText(goalOf({}))).toBeNull();
  expect(stillReachedText(goalOf({ state: "paused", reason: "person" }))).toBeNull();
});

test("first_reached_limit_names_the_field_that_raises_it", () => {
  expect(reachedField(goalOf({}))).toBeNull();
  expect(reachedField(goalOf({ limit_usage: USED_UP }))).toBe("limits.turns");
  const fields = ["cost", "tokens", "turns", "time"].map((limit) =>
    reachedField(goalOf({ limit_usage: [{ limit, level: "low", text: "", note: null }] })),
  );
  expect(fields).toEqual(["cost", "tokens", "limits.turns", "until"]);
});

test("paused_goal_gets_another_plan_only_when_it_goes_on", () => {
  expect(replanText(goalOf({}))).toBe("The planner plans again");
  expect(replanText(goalOf({ state: "paused", reason: "person" }))).toBe(
    "The planner plans again once the goal is resumed",
  );
  expect(replanText(goalOf({ state: "paused", reason: "budget" }))).toBe(
    "The planner plans again once the limit is raised",
  );
  expect(replanText(goalOf({ state: "paused", reason: "approve_plan" }))).toBe(
    "The planner plans again once you approve the present plan",
  );
});

test("conflict_of_a_cancel_says_that_the_goal_has_ended", () => {
  const problem = (status: number) =>
    new ApiProblem({
      type: "about:blank",
      kind: "refused",
      title: "",
      detail: "the goal is failed",
      status,
    });
  expect(endedText(problem(409))).toBe("It has ended meanwhile, so that nothing is left to cancel.");
  expect(endedText(problem(403))).toBeNull();
  expect(endedText(new Error("offline"))).toBeNull();
});

describe("adviceOf", () => {
  const task = (key: string, more: object = {}) =>
    ({ key, kind: "work", status: "FAILED", step: null, optional: false, waits_for: null, ...more }) as Task;
  const advice = (cause: string | null, tasks: Task[], more: object = {}) => {
    const found = adviceOf(goalOf({ state: "paused", reason: "stuck", cause, ...more }), tasks);
    return { keys: found.tasks.map(({ key }) => key), text: found.text };
  };

  it("nothing_can_run_names_the_failed_tasks_that_are_needed", () => {
    const tasks = [
      task("outline", { status: "DONE" }),
      task("rye"),
      task("extra", { optional: true }),
      task("plan#2", { kind: "plan" }),
    ];
    expect(advice("nothing can run", tasks)).toEqual({
      keys: ["rye"],
      text: "The task has failed. Retry, edit, replace, accept or cancel it, or let the planner plan again.",
    });
    expect(advice("nothing can run", [...tasks, task("wheat")], { replans: 5 })).toEqual({
      keys: ["rye", "wheat"],
      text: "The tasks have failed. Retry, edit, replace, accept or cancel each of them.",
    });
  });

  it("seats_that_are_offline_need_no_person", () => {
    const seats = [
      { name: "worker-1", state: "offline" },
      { name: "judge", state: "free" },
    ];
    expect(advice("nothing can run", [task("rye", { status: "RUNNING" })], { seats })).toEqual({
      keys: [],
      text: "Offline: worker-1. It goes on by itself when their server is back.",
    });
  });

  it("no_plan_names_the_plan_and_no_task_to_retry", () => {
    const { keys, text } = advice("no plan", [task("plan#1", { kind: "plan" })], { plan_version: 0 });
    expect(keys).toEqual(["plan#1"]);
    expect(text).toContain("“Resume” lets it plan again.");
    expect(text).not.toMatch(/retry|accept/i);
  });

  it("no_verdict_names_the_tasks_whose_review_is_repeated", () => {
    const broken = task("rye", {
      status: "RUNNING",
      step: "review",
      waits_for: "a person, because no judge",
    });
    const { keys, text } = advice("no verdict", [broken, task("wheat", { status: "RUNNING" })]);
    expect(keys).toEqual(["rye"]);
    expect(text).toMatch(/^A review gave no verdict\. Retry the task/);
  });

  it("goal_sent_back_names_the_last_check_and_the_plan_before_the_next_one", () => {
    const tasks = [task("check#1", { kind: "check" }), task("check#2", { kind: "check" })];
    const { keys, text } = advice("goal sent back", tasks);
    expect(keys).toEqual(["check#2"]);
    expect(text).toContain("Accept the check to end the goal without another plan.");
    expect(text).toContain("“Resume” lets the planner plan about the findings, and then repeats the check.");
  });

  it("goal_sent_back_without_further_plans_repeats_the_check", () => {
    const { text } = advice("goal sent back", [task("check#1", { kind: "check" })], { replans: 5 });
    expect(text).toContain("Accept the check to end the goal. “Resume” repeats the check.");
    expect(text).not.toContain("plan");
  });

  it("no_progress_permits_a_resume", () => {
    const { keys, text } = advice("no progress", [task("rye")]);
    expect(keys).toEqual(["rye"]);
    expect(text).toContain("Message a seat, then resume. Or add a task, or retry, edit, replace,");
    expect(text).toContain("“Resume” permits as many turns again.");
  });
});
