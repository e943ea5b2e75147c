import { describe, expect, it, test } from "vitest";
import type { Goal, GoalSummary, GoalUsage, Task, TaskDetails } from "../../api/types";
import {
  costLimit,
  costShare,
  costText,
  directMoveOf,
  givenKey,
  isEditable,
  isReplaceable,
  lookOfPhase,
  mayBeInvented,
  movesOf,
  movesOfTask,
  reachedText,
  reasonText,
  replanRefusal,
  resultOf,
  seatAndRound,
  seatUsageText,
  shareOf,
  stateOfGoal,
  stateOfSeat,
  stateOfTask,
  titleOfGoal,
  toggleOf,
  unreportedText,
} from "./words";

describe("directMoveOf", () => {
  it.each<[Pick<Goal, "state" | "reason">, ReturnType<typeof directMoveOf>]>([
    [
      { state: "draft", reason: null },
      { move: "start", word: "Start" },
    ],
    [
      { state: "active", reason: null },
      { move: "pause", word: "Pause" },
    ],
    [
      { state: "paused", reason: "person" },
      { move: "resume", word: "Resume" },
    ],
    [
      { state: "paused", reason: "stuck" },
      { move: "resume", word: "Resume" },
    ],
    [
      { state: "paused", reason: "approve_plan" },
      { move: "resume", word: "Approve the plan" },
    ],
    [{ state: "paused", reason: "budget" }, null],
    [{ state: "done", reason: null }, null],
    [{ state: "failed", reason: "cancelled" }, null],
  ])("direct_move_of_%j", (goal, move) => {
    expect(directMoveOf(goal)).toEqual(move);
  });
});

describe("stateOfGoal", () => {
  it.each<[Partial<GoalSummary>, string, string]>([
    [{ state: "draft" }, "draft", "draft"],
    [{ state: "active", phase: "working" }, "running", "working"],
    [{ state: "active", phase: null }, "running", "active"],
    [{ state: "active", phase: "working", open_questions: 1 }, "waits", "waits for you"],
    [{ state: "active", phase: "working", open_approvals: 2 }, "waits", "waits for you"],
    [{ state: "paused", reason: "approve_plan" }, "waits", "its plan waits for you"],
    [{ state: "paused", reason: "stuck", cause: "no verdict" }, "waits", "stuck: no verdict"],
    [{ state: "paused", reason: "stuck" }, "waits", "stuck"],
    [{ state: "paused", reason: "budget" }, "paused", "paused: a limit is reached"],
    [{ state: "paused", reason: "person" }, "paused", "paused"],
    [{ state: "done" }, "done", "done"],
    [{ state: "failed", reason: "cancelled" }, "cancelled", "cancelled"],
    [{ state: "failed", reason: "given_up" }, "failed", "failed: given up"],
    [{ state: "failed" }, "failed", "failed"],
  ])("state_of_%j", (goal, look, word) => {
    expect(stateOfGoal(goal as GoalSummary)).toEqual({ look, word });
  });
});

test("result_that_is_the_cause_of_the_failure_is_shown_once", () => {
  expect(resultOf({ result: "The mail.", cause: null })).toBe("The mail.");
  expect(resultOf({ result: "Draft", cause: "The turn failed: it broke." })).toBe("Draft");
  expect(resultOf({ result: "I may not.", cause: "I may not." })).toBeNull();
  expect(resultOf({ result: null, cause: "I may not." })).toBeNull();
});

test("result_without_a_call_of_a_tool_may_be_invented_also_as_the_cause_of_a_failure", () => {
  const task = { kind: "work", result: "I may not.", cause: "I may not.", tool_calls: 0 } as TaskDetails;
  expect(resultOf(task)).toBeNull();
  expect(mayBeInvented(task)).toBe(true);
  expect(mayBeInvented({ ...task, result: null })).toBe(false);
  expect(mayBeInvented({ ...task, tool_calls: 1 })).toBe(false);
  expect(mayBeInvented({ ...task, kind: "plan" })).toBe(false);
});

test("goal_without_title_has_the_beginning_of_its_text", () => {
  expect(titleOfGoal({ title: "Spring", goal: "Draft it." })).toBe("Spring");
  expect(titleOfGoal({ title: null, goal: "Draft it.\nPublish nothing." })).toBe("Draft it.");
});

test("title_with_hidden_characters_shows_them", () => {
  expect(titleOfGoal({ title: "a\u202eb", goal: "Draft it." })).toBe("a\\u{202e}b");
  expect(titleOfGoal({ title: null, goal: "a\u200bb" })).toBe("a\\u{200b}b");
});

test("reason_does_not_name_the_ids_of_findings", () => {
  expect(reasonText({ reason: "not accepted: person" })).toBe("not accepted");
  expect(reasonText({ reason: "attempts used up" })).toBe("attempts used up");
  expect(reasonText({ reason: null })).toBeNull();
});

test("key_that_the_server_made_is_not_shown", () => {
  expect(givenKey({ key: "cli:01a2242bb81c700080bae67b07e0702e" })).toBeNull();
  expect(givenKey({ key: "spring" })).toBe("spring");
  expect(givenKey({ key: null })).toBeNull();
});

describe("stateOfTask", () => {
  it.each<[Partial<Task>, string, string]>([
    [{ status: "PENDING", waits_for: "mail-2" }, "queued", "pending"],
    [{ status: "READY" }, "queued", "ready"],
    [{ status: "RUNNING", step: "work" }, "running", "running"],
    [{ status: "RUNNING", step: "checks" }, "running", "checks run"],
    [{ status: "RUNNING", step: "review" }, "running", "in review"],
    [{ status: "RUNNING", step: "question" }, "waits", "asks you"],
    [
      { status: "RUNNING", step: "checks", waits_for: "a person, because the check tests cannot run" },
      "waits",
      "waits for you",
    ],
    [
      { status: "RUNNING", step: "review", waits_for: "the goal, which is paused (budget)" },
      "queued",
      "waits",
    ],
    [
      {
        status: "RUNNING",
        step: "review",
        waits_for: "the goal, which will be paused after the turns under way",
      },
      "running",
      "in review",
    ],
    [{ status: "DONE" }, "succeeded", "done"],
    [{ status: "FAILED" }, "failed", "failed"],
    [{ status: "CANCELLED" }, "cancelled", "cancelled"],
  ])("state_of_%j", (task, look, word) => {
    expect(stateOfTask(task as Task)).toEqual({ look, word });
  });

  it("every_seat_has_a_shape_and_a_word", () => {
    const goal = { state: "active" } as const;
    const states = (["free", "busy", "offline", "removed"] as const).map((state) =>
      stateOfSeat({ state }, goal),
    );
    expect(new Set(states.map(({ look }) => look)).size).toBe(4);
    expect(states.map(({ word }) => word)).toEqual(["free", "busy", "offline", "removed"]);
    // The server of the version before.
    expect(stateOfSeat({ state: "gone" }, goal).word).toBe("removed");
  });

  it("seat_with_messages_waits_in_a_draft", () => {
    expect(stateOfSeat({ state: "busy" }, { state: "draft" })).toEqual({ look: "queued", word: "waits" });
  });

  it("seat_and_later_rounds_are_named", () => {
    const task = { seat: "worker-2", round: 0, round_limit: 3 };
    expect(seatAndRound(task)).toBe("worker-2");
    expect(seatAndRound({ ...task, round: 1 })).toBe("worker-2, round 2 of 3");
    // The last round is over.
    expect(seatAndRound({ ...task, seat: null, round: 3 })).toBe("round 3 of 3");
  });
});

describe("lookOfPhase", () => {
  const look = (state: Goal["state"], ...tasks: [Task["status"], optional?: boolean][]) =>
    lookOfPhase(
      { state },
      tasks.map(([status, optional = false]) => ({ status, optional, waits_for: null })),
    );

  it("task_that_a_paused_goal_holds_back_does_not_run", () => {
    const task = {
      status: "RUNNING",
      optional: false,
      waits_for: "the goal, which is paused (budget)",
    } as const;
    expect(lookOfPhase({ state: "paused" }, [task])).toBe("queued");
  });

  it.each<[Task["status"][], string]>([
    [[], "queued"],
    [["PENDING", "DONE"], "queued"],
    [["PENDING", "FAILED"], "failed"],
    [["RUNNING", "FAILED"], "running"],
    [["RUNNING", "DONE"], "running"],
    [["DONE", "FAILED"], "failed"],
    [["DONE", "CANCELLED"], "succeeded"],
    [["DONE", "DONE"], "succeeded"],
    [["CANCELLED"], "cancelled"],
  ])("phase_with_tasks_%j_is_%s", (statuses, expected) => {
    expect(look("active", ...statuses.map((status): [Task["status"]] => [status]))).toBe(expected);
  });

  it("optional_task_that_failed_leaves_the_work_of_a_done_goal_succeeded", () => {
    expect(look("done", ["DONE"], ["FAILED", true])).toBe("succeeded");
    expect(look("done", ["DONE"], ["CANCELLED"], ["FAILED", true])).toBe("succeeded");
    expect(look("done", ["FAILED", true])).toBe("failed");
  });

  it("task_that_runs_counts_before_a_failed_one_only_while_the_goal_is_active", () => {
    expect(look("paused", ["RUNNING"], ["FAILED"])).toBe("failed");
    expect(look("paused", ["RUNNING"], ["FAILED", true])).toBe("running");
  });

  it("tasks_that_the_end_of_a_goal_cancelled_have_not_succeeded", () => {
    expect(look("failed", ["DONE"], ["CANCELLED"])).toBe("cancelled");
  });
});

const SEATS = [
  { name: "worker-1", role: "worker" },
  { name: "judge", role: "judge" },
] as Goal["seats"];

describe("moves", () => {
  it("goal_that_is_over_has_none", () => {
    expect(movesOf({ state: "done" })).toEqual([]);
    expect(movesOf({ state: "failed" })).toEqual([]);
    const failed = { kind: "work", status: "FAILED", optional: false } as Task;
    for (const state of ["done", "failed"] as const)
      expect(movesOfTask({ state, seats: SEATS }, failed)).toEqual([]);
  });

  it.each<[Pick<Task, "kind" | "status">, boolean]>([
    [{ kind: "work", status: "PENDING" }, true],
    [{ kind: "work", status: "READY" }, true],
    [{ kind: "work", status: "RUNNING" }, false],
    [{ kind: "work", status: "DONE" }, false],
    [{ kind: "work", status: "FAILED" }, true],
    [{ kind: "work", status: "CANCELLED" }, false],
    [{ kind: "plan", status: "FAILED" }, false],
    [{ kind: "check", status: "PENDING" }, false],
    [{ kind: "report", status: "READY" }, false],
  ])("edit_of_%j_is_offered_%s_while_the_goal_is_not_over", (task, isOffered) => {
    for (const state of ["draft", "active", "paused"] as const)
      expect(isEditable({ state }, task)).toBe(isOffered);
    for (const state of ["done", "failed"] as const) expect(isEditable({ state }, task)).toBe(false);
  });

  it("failed_task_of_the_plan_is_replaced_until_the_goal_is_over", () => {
    expect(isReplaceable({ state: "paused" }, { kind: "work", status: "FAILED" })).toBe(true);
    expect(isReplaceable({ state: "done" }, { kind: "work", status: "FAILED" })).toBe(false);
    expect(isReplaceable({ state: "paused" }, { kind: "work", status: "RUNNING" })).toBe(false);
    expect(isReplaceable({ state: "paused" }, { kind: "check", status: "FAILED" })).toBe(false);
  });

  it("paused_goal_is_resumed_and_draft_started", () => {
    expect(movesOf({ state: "active" })).toEqual(["pause", "replan", "cancel"]);
    expect(movesOf({ state: "paused" })).toEqual(["resume", "replan", "cancel"]);
    expect(movesOf({ state: "draft" })).toEqual(["start", "cancel"]);
  });

  it.each<[Goal["state"], Goal["reason"], string | null]>([
    ["paused", "approve_plan", null],
    ["paused", "budget", null],
    ["draft", null, null],
    ["done", null, null],
    ["failed", "given_up", null],
    ["active", null, "pause"],
    ["paused", "person", "resume"],
    ["paused", "stuck", "resume"],
  ])("key_of_%s_goal_for_%s_moves_it_by_%s", (state, reason, move) => {
    expect(toggleOf({ state, reason })).toBe(move);
  });

  it("further_plans_end_at_the_limit_and_the_first_one_is_free", () => {
    expect(replanRefusal({ plan_version: 1, replans: 4, replan_limit: 5 })).toBeNull();
    expect(replanRefusal({ plan_version: 2, replans: 5, replan_limit: 5 })).toMatch(/^All 5 further plans/);
    expect(replanRefusal({ plan_version: 1, replans: 0, replan_limit: 0 })).toMatch(/permit no further plan/);
    expect(replanRefusal({ plan_version: 0, replans: 0, replan_limit: 0 })).toBeNull();
  });

  // The rules of `crates/model/src/goal/people.rs`: for each state of a task, what each kind of task accepts.
  const RETRY_ACCEPT_CANCEL = ["retry", "accept", "cancel"];
  const CHECK_BROKEN = "a person, because the check tests cannot run";
  const JUDGE_BROKEN = "a person, because no judge gives a verdict";
  type Moves = Record<Task["kind"], string[]>;
  const OPEN: Moves = { work: ["cancel"], plan: ["cancel"], check: [], report: [] };
  const JUDGED: Moves = { work: ["accept", "cancel"], plan: ["cancel"], check: ["accept"], report: [] };
  const BROKEN: Moves = {
    work: RETRY_ACCEPT_CANCEL,
    plan: ["retry", "cancel"],
    check: ["retry", "accept"],
    report: ["retry"],
  };
  const NONE: Moves = { work: [], plan: [], check: [], report: [] };
  it.each<[Partial<Task>, Moves]>([
    [{ status: "PENDING", waits_for: "mail-2" }, OPEN],
    [{ status: "READY", waits_for: "a seat with the role worker" }, OPEN],
    [{ status: "RUNNING", step: "work", seat: "worker-1" }, OPEN],
    [{ status: "RUNNING", step: "checks" }, OPEN],
    [{ status: "RUNNING", step: "checks", waits_for: CHECK_BROKEN }, BROKEN],
    [{ status: "RUNNING", step: "review", seat: "judge" }, JUDGED],
    [{ status: "RUNNING", step: "review", waits_for: JUDGE_BROKEN }, BROKEN],
    [{ status: "RUNNING", step: "question", seat: "worker-1" }, OPEN],
    [{ status: "RUNNING", step: "question", seat: "judge" }, JUDGED],
    [{ status: "DONE" }, NONE],
    [{ status: "FAILED" }, { work: RETRY_ACCEPT_CANCEL, plan: [], check: ["accept"], report: [] }],
    [
      { status: "FAILED", optional: true },
      { work: ["retry", "accept"], plan: [], check: ["accept"], report: [] },
    ],
    [{ status: "CANCELLED" }, NONE],
  ])("moves_of_%j", (task, moves) => {
    for (const kind of ["work", "plan", "check", "report"] as const)
      expect(
        movesOfTask({ state: "active", seats: SEATS }, { optional: false, ...task, kind } as Task),
        kind,
      ).toEqual(moves[kind]);
  });
});

describe("cost", () => {
  const usage = {
    tokens: null,
    unreported_runs: 0,
    runs_without_cost: 0,
    cost: [{ amount: "3.10", currency: "USD" }],
  };

  it("cost_that_no_agent_reported_is_no_zero", () => {
    expect(costText({ cost: [] })).toBeNull();
    expect(costShare({ budget: null, usage })).toBeNull();
  });

  it("share_counts_the_currency_of_the_limit", () => {
    const budget = { tokens: null, cost: { amount: "6.2", currency: "USD" } };
    expect(costLimit({ budget })).toBe("$6.20");
    expect(costShare({ budget, usage })).toBeCloseTo(0.5);
    expect(costShare({ budget: { tokens: null, cost: { amount: "1", currency: "EUR" } }, usage })).toBe(0);
    expect(costText({ cost: [...usage.cost, { amount: "1", currency: "EUR" }] })).toBe("$3.10 + €1.00");
  });

  it("turns_without_cost_are_named_under_a_budget_of_money", () => {
    const silent = { ...usage, unreported_runs: 1, runs_without_cost: 3 };
    const money = { tokens: null, cost: { amount: "6", currency: "USD" } };
    expect(unreportedText({ usage: silent, budget: money })).toBe("3 turns reported no cost");
    expect(unreportedText({ usage: silent, budget: null })).toBe("1 turn reported no usage");
    expect(unreportedText({ usage, budget: money })).toBeNull();
  });

  it.each<[{ turns?: number; usage?: Partial<GoalUsage> }, GoalSummary["budget"], string | null]>([
    [{}, null, null],
    [{ turns: 0, usage: {} }, null, "no turn"],
    // The first turn is under way.
    [{ turns: 1, usage: {} }, null, "1 turn"],
    [
      { turns: 3, usage: { cost: [{ amount: "0.42", currency: "USD" }], tokens: 1200 } },
      null,
      "3 turns, $0.42",
    ],
    [{ turns: 3, usage: { tokens: 1200 } }, null, "3 turns, 1.2k tokens"],
    [
      { turns: 3, usage: { tokens: 1200, unreported_runs: 1 } },
      null,
      "3 turns, 1.2k tokens, 1 turn reported no usage",
    ],
    [
      { turns: 3, usage: { tokens: 1200, runs_without_cost: 3 } },
      { tokens: null, cost: { amount: "6", currency: "USD" } },
      "3 turns, 1.2k tokens, 3 turns reported no cost",
    ],
    [{ turns: 2, usage: { unreported_runs: 2 } }, null, "2 turns, usage not reported"],
  ])("usage_of_seat_%j_with_budget_%j_is_%s", ({ turns, usage: own }, budget, text) => {
    const seat = own === undefined ? {} : { turns: turns ?? 0, usage: { ...usage, cost: [], ...own } };
    expect(seatUsageText(seat, { budget })).toBe(text);
  });

  it("reached_limits_are_named", () => {
    const limit_usage: Goal["limit_usage"] = [
      { limit: "tokens", level: "used_up", text: "1180 of 700, used up", note: null },
      { limit: "turns", level: "enough", text: "3 of 200, 197 left", note: null },
      { limit: "time", level: "used_up", text: "used up 4m ago", note: null },
    ];
    expect(reachedText({ limit_usage })).toBe("tokens: 1180 of 700, used up; time: used up 4m ago");
    expect(reachedText({ limit_usage: limit_usage.slice(1, 2) })).toBeNull();
    expect(reachedText({})).toBeNull();
  });

  it("share_stays_between_nothing_and_all", () => {
    expect(shareOf(5, 0)).toBe(0);
    expect(shareOf(7, 5)).toBe(1);
    expect(shareOf(-1, 5)).toBe(0);
  });
});
