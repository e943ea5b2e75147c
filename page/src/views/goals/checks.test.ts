import { describe, expect, it, test } from "vitest";
import { checksOf } from "./checks";

const looks = (checks: string[], check_output: string[]) =>
  checksOf({ checks, check_output }).checks.map(({ name, look, end }) => [name, look, end]);

// The texts of `crates/daemon/src/checks/runner.rs`.
describe("end_of_a_check", () => {
  it.each([
    ["passed", "succeeded"],
    ["exit code 1", "failed"],
    ["signal 9", "failed"],
    ["exit code 127: its program cannot be started", "missed"],
    ["not over after 600 s", "missed"],
    ["not started: no such file or directory", "missed"],
    ["its exit status is unknown", "missed"],
    ["the team has no such check", "missed"],
  ])("%s_is_%s", (end, look) => {
    expect(looks(["tests"], [`tests: ${end}`])).toEqual([["tests", look, end]]);
  });
});

test("checks_behind_one_that_failed_have_not_run", () => {
  expect(
    looks(["format", "tests", "links"], ["format: passed", "tests: exit code 101\nfailures: 1"]),
  ).toEqual([
    ["format", "succeeded", "passed"],
    ["tests", "failed", "exit code 101"],
    ["links", "queued", "has not run"],
  ]);
  expect(looks(["tests"], [])).toEqual([["tests", "queued", "has not run"]]);
});

test("last_lines_are_apart_from_the_end", () => {
  const { checks } = checksOf({
    checks: ["tests"],
    check_output: ["tests: exit code 1\nlinks: passed\n  expected 1"],
  });
  expect(checks[0]?.lastLines).toBe("links: passed\n  expected 1");
});

test("text_of_no_check_is_kept", () => {
  const removed = "the instance `laptop` was removed";
  expect(checksOf({ checks: ["tests"], check_output: [removed] }).others).toEqual([removed]);
  expect(checksOf({ checks: ["tests"], check_output: ["tests: passed"] }).others).toEqual([]);
});
