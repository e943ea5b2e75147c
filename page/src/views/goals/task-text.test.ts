import { describe, expect, it, test } from "vitest";
import type { Task } from "../../api/types";
import { doneText, isAccepted, nodeName, nodeText } from "./task-text";

test("done_task_says_who_accepted_it_or_that_no_report_came", () => {
  const done = (reason: string) => doneText({ status: "DONE", reason });
  expect(done("judge")).toBe("accepted by the judge");
  expect(done("person")).toBe("accepted by a person");
  expect(done("unreported")).toBe("answer without a report");
  expect(done("result")).toBeNull();
  expect(doneText({ status: "FAILED", reason: "no result reported" })).toBeNull();
  expect(doneText({ status: "RUNNING", reason: null })).toBeNull();
});

test("only_a_verdict_of_the_judge_or_of_a_person_meets_acceptance_lines", () => {
  expect(isAccepted({ status: "DONE", reason: "judge" })).toBe(true);
  expect(isAccepted({ status: "DONE", reason: "person" })).toBe(true);
  expect(isAccepted({ status: "DONE", reason: "result" })).toBe(false);
  expect(isAccepted({ status: "DONE", reason: "unreported" })).toBe(false);
  expect(isAccepted({ status: "FAILED", reason: "not accepted: tone" })).toBe(false);
});

describe("node", () => {
  const NOW = Date.parse("2026-11-29T08:10:00Z");
  const node = (task: Partial<Task>) =>
    ({ key: "mail-2", seat: null, round: 0, round_limit: 3, ...task }) as Task;
  const begun = { seat: "worker-2", started_at: "2026-11-29T08:04:00Z" };
  const done = { ...begun, status: "DONE", ended_at: "2026-11-29T08:08:30Z" } as const;

  it.each<[Partial<Task>, string]>([
    [{ status: "PENDING", waits_for: "mail-1, images (FAILED)" }, "waits for mail-1, images (FAILED)"],
    [{ status: "READY", waits_for: "a seat with the role worker" }, "waits for a seat with the role worker"],
    [{ status: "READY" }, "ready"],
    [{ ...begun, status: "RUNNING", step: "work" }, "worker-2, 6 min"],
    [{ ...begun, status: "RUNNING", step: "work", round: 1 }, "worker-2, round 2 of 3"],
    [
      { ...begun, status: "RUNNING", step: "work", waits_for: "the seat worker-2" },
      "waits for the seat worker-2",
    ],
    [{ ...begun, status: "RUNNING", step: "review", seat: "judge" }, "in review, judge, 6 min"],
    [
      { ...begun, status: "RUNNING", step: "question", waits_for: "the answer to a question" },
      "asks you, worker-2, 6 min",
    ],
    [
      {
        ...begun,
        status: "RUNNING",
        step: "checks",
        seat: null,
        waits_for: "a person, because it cannot run",
      },
      "waits for you, 6 min",
    ],
    [done, "worker-2, 4 min 30 s"],
    [{ ...done, status: "FAILED", round: 3 }, "worker-2, round 3 of 3"],
    [{ status: "CANCELLED", ended_at: "2026-11-29T08:08:30Z" }, "cancelled"],
  ])("line_of_%j_is_%s", (task, text) => {
    expect(nodeText(node(task), NOW)).toBe(text);
  });

  it("name_has_the_state_and_all_that_the_line_leaves_out", () => {
    expect(nodeName(node({ ...done, round: 1 }))).toBe("mail-2, done, worker-2, round 2 of 3, 4 min 30 s");
    expect(nodeName(node({ status: "PENDING", waits_for: "mail-1" }))).toBe(
      "mail-2, pending, waits for mail-1",
    );
    expect(nodeName(node({ ...begun, status: "RUNNING", step: "work" }))).toBe("mail-2, running, worker-2");
  });

  it("hidden_characters_of_other_keys_are_shown", () => {
    const task = node({ key: "a\u202e", status: "PENDING", waits_for: "b\u200b" });
    expect(nodeText(task, NOW)).toBe("waits for b\\u{200b}");
    expect(nodeName(task)).toBe("a\\u{202e}, pending, waits for b\\u{200b}");
  });
});
