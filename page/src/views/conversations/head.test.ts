import { describe, expect, it, test } from "vitest";
import type { Goal, OpenRun, SessionStatus } from "../../api/types";
import { completionText, deletionText, moveOfHead, stateOfHead } from "./head";

const session = (state: SessionStatus, ...runs: Partial<OpenRun>[]) => ({
  state,
  open_runs: runs as OpenRun[],
});
const goal = (more: Partial<Goal>) =>
  ({ state: "active", reason: null, phase: "working", cause: null, title: "Tea", ...more }) as Goal;

describe("stateOfHead", () => {
  const running: Partial<OpenRun> = { status: "running" };

  it("request_comes_before_every_other_state", () => {
    expect(stateOfHead(session("active", running), null, true)).toEqual({ look: "waits" });
    expect(stateOfHead(session("active"), goal({ state: "paused" }), true)).toEqual({ look: "waits" });
  });

  it("goal_comes_before_its_session_and_its_turns", () => {
    const paused = goal({ state: "paused", reason: "person" });
    expect(stateOfHead(session("active", running), paused, false)).toEqual({
      look: "paused",
      word: "paused",
    });
    expect(stateOfHead(session("active"), goal({}), false)).toEqual({ look: "running", word: "working" });
    const cancelled = goal({ state: "failed", reason: "cancelled" });
    expect(stateOfHead(session("done"), cancelled, false)?.word).toBe("cancelled");
  });

  it("paused_session_of_an_active_goal_is_paused", () => {
    expect(stateOfHead(session("paused"), goal({}), false)).toEqual({ look: "paused" });
  });

  it("conversation_without_a_goal_shows_its_turn_its_state_or_its_file", () => {
    const file: Partial<OpenRun> = {
      status: "delivered",
      blocked_on: { for: "runtime", name: "laptop" } as OpenRun["blocked_on"],
    };
    expect(stateOfHead(session("active", running), null, false)).toEqual({ look: "running" });
    expect(stateOfHead(session("draft"), null, false)).toEqual({ look: "draft" });
    expect(stateOfHead(session("active", file), null, false)?.title).toContain("at laptop");
    expect(stateOfHead(session("active"), null, false)).toBeNull();
  });
});

describe("moveOfHead", () => {
  it("nothing_moves_until_it_is_known_whether_there_is_a_goal", () => {
    expect(moveOfHead(session("active"), undefined)).toBeNull();
  });

  it.each<[SessionStatus, Partial<Goal>, string, string, boolean]>([
    ["draft", { state: "draft" }, "start", "Start the goal", false],
    ["active", { state: "active" }, "pause", "Pause the goal", true],
    ["active", { state: "paused", reason: "person" }, "resume", "Resume the goal", true],
    ["active", { state: "paused", reason: "stuck" }, "resume", "Resume the goal", false],
    ["active", { state: "paused", reason: "approve_plan" }, "resume", "Approve the plan", false],
  ])("goal_in_%s_session_%j_moves_itself", (state, of, move, label, hasKey) => {
    expect(moveOfHead(session(state), goal(of))).toMatchObject({ of: "goal", move, label, hasKey });
  });

  it("goal_at_its_limit_and_goal_that_is_over_have_no_move", () => {
    expect(moveOfHead(session("active"), goal({ state: "paused", reason: "budget" }))).toBeNull();
    expect(moveOfHead(session("done"), goal({ state: "done" }))).toBeNull();
  });

  it("paused_session_of_a_goal_is_resumed", () => {
    expect(moveOfHead(session("paused"), goal({}))).toMatchObject({ of: "session", move: "resume" });
  });

  it.each<[SessionStatus, string, boolean]>([
    ["active", "pause", true],
    ["paused", "resume", true],
    ["draft", "enable", false],
  ])("session_without_a_goal_in_%s_moves_by_%s", (state, move, hasKey) => {
    expect(moveOfHead(session(state), null)).toMatchObject({ of: "session", move, hasKey });
  });

  it("closed_session_has_no_move", () => {
    expect(moveOfHead(session("done"), null)).toBeNull();
  });
});

const tasks = {
  pending: 2,
  ready: 0,
  running: 1,
  done: 4,
  failed: 0,
  cancelled: 0,
  total: 7,
} as Goal["tasks"];

test("completion_names_the_goal_that_it_cancels", () => {
  const text = completionText(goal({ tasks }));
  expect(text).toContain("It cancels the goal “Tea”");
  expect(text).toContain("its running turns are asked to stop");
  expect(text).toContain("3 open tasks will not be done");
  expect(text).not.toContain("ends as usual");
});

test("completion_without_an_open_goal_lets_turns_end", () => {
  for (const none of [null, goal({ state: "done", tasks })])
    expect(completionText(none)).toContain("A running turn ends as usual");
});

test("deletion_names_the_goal_that_goes_too", () => {
  expect(deletionText(null)).toBe("The whole transcript goes for good.");
  expect(deletionText(goal({ tasks }))).toMatch(/the goal “Tea”.*It is not over: 3 open tasks/);
  const over = deletionText(goal({ state: "failed", tasks }));
  expect(over).toContain("the goal “Tea”");
  expect(over).not.toContain("not be done");
});
