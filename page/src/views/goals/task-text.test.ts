import { expect, test } from "vitest";
import { doneText, isAccepted } from "./task-text";

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
