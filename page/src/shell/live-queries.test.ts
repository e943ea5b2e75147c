import { describe, expect, it, vi } from "vitest";
import { queryClient } from "../api/queries";
import type { TraceEvent } from "../api/types";
import { refetchAfter, staleKeys } from "./live-queries";

const keys = (event: Record<string, unknown>) =>
  staleKeys(event as unknown as TraceEvent).map((key) => key.join("/"));

const QUEUED = { kind: "run", automation_id: "a", run_id: "r", change: { status: "queued" } };

describe("staleKeys", () => {
  it("run_of_an_automation_in_a_session_refetches_both", () => {
    const event = { ...QUEUED, session_id: "s" };
    expect(keys(event)).toEqual(expect.arrayContaining(["runs", "sessions", "session/s", "automations"]));
  });

  it("run_that_was_missed_has_no_session", () => {
    expect(keys({ ...QUEUED, session_id: null })).not.toContain("session/null");
  });

  it("end_of_a_run_refetches_what_its_tools_have_written", () => {
    const run = { kind: "run", session_id: "s", automation_id: "a", run_id: "r" };
    const ended = keys({ ...run, change: { status: "failed" } });
    expect(ended).toEqual(expect.arrayContaining(["memory/a", "artifacts/s"]));
    expect(ended).not.toContain("memory/s");
    const message = keys({ ...run, automation_id: null, change: { status: "succeeded" } });
    expect(message).toEqual(expect.arrayContaining(["memory/s", "artifacts/s"]));
    const begun = keys({ ...run, change: { status: "running" } });
    expect(begun.filter((key) => /memory|artifacts/.test(key))).toEqual([]);
  });

  it("approval_refetches_the_approvals", () => {
    const stale = keys({ kind: "approval", session_id: "s" });
    expect(stale).toEqual(expect.arrayContaining(["approvals", "goals", "goal/s"]));
  });

  it("question_refetches_the_questions_and_the_overview", () => {
    expect(keys({ kind: "question", session_id: "s" })).toEqual(["questions", "overview", "goals", "goal/s"]);
  });

  it("tool_call_refetches_nothing", () => {
    expect(keys({ kind: "message", role: "tool", session_id: "s" })).toEqual([]);
  });

  it("session_refetches_the_goals_that_wait_for_a_person", () => {
    const stale = ["sessions", "session/s", "goals", "goal/s", "waiting-goals"];
    expect(keys({ kind: "session", session_id: "s" })).toEqual(stale);
  });

  it("task_refetches_its_goal_and_the_lists_of_goals", () => {
    expect(keys({ kind: "task", session_id: "s", key: "a", status: "DONE" })).toEqual(["goals", "goal/s"]);
    expect(keys({ kind: "task" })).toEqual([]);
  });

  it("goal_that_pauses_refetches_what_waits_for_a_person", () => {
    const stale = ["goals", "goal/s", "waiting-goals", "overview"];
    expect(keys({ kind: "goal", session_id: "s", state: "paused" })).toEqual(stale);
  });

  it("turn_of_an_automation_is_none_of_a_goal", () => {
    const own = { ...QUEUED, session_id: "s", automation_id: null };
    expect(keys(own)).toEqual(expect.arrayContaining(["goals", "goal/s"]));
    expect(keys({ ...QUEUED, session_id: "s" })).not.toContain("goal/s");
  });

  it("message_between_seats_refetches_the_goal", () => {
    const message = { kind: "message", role: "assistant", session_id: "s" };
    expect(keys({ ...message, to_seat_id: "seat_1" })).toEqual(["goal/s"]);
    expect(keys({ ...message, to_seat_id: null })).toEqual([]);
  });

  it("event_of_a_later_server_is_ignored", () => {
    expect(keys({ kind: "something-new" })).toEqual([]);
    expect(keys({ kind: "unknown", seq: 1 })).toEqual([]);
  });
});

describe("refetchAfter", () => {
  it("resync_of_the_feed_waits_for_no_read", () => {
    const restart = vi.spyOn(queryClient, "restartQueries");
    refetchAfter({ kind: "question", session_id: "s" } as unknown as TraceEvent);
    expect(restart).not.toHaveBeenCalled();
    refetchAfter({ kind: "feed_resync" } as TraceEvent);
    expect(restart).toHaveBeenCalledOnce();
  });
});
