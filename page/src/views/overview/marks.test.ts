import { expect, test } from "vitest";
import type { Lane, RunOutcome } from "../../api/types";
import { comingMarks, pastMarks, place } from "./marks";

const from = Date.parse("2026-11-18T08:00:00Z");
const to = Date.parse("2026-11-20T08:00:00Z");
const now = Date.parse("2026-11-19T08:00:00Z");
const scale = { from, to, width: 480 };

function run(id: string, status: RunOutcome["status"], at: string, minutes = 1): RunOutcome {
  const began = Date.parse(at);
  const turn = status !== "missed" && status !== "skipped";
  return {
    run_id: id,
    status,
    reason: null,
    message: null,
    occurrences: 1,
    at,
    started_at: turn ? at : null,
    ended_at: status === "running" ? null : new Date(began + minutes * 60_000).toISOString(),
  };
}

function lane(runs: RunOutcome[], upcoming: string[] = [], state: Lane["state"] = "enabled"): Lane {
  return {
    automation_id: "aut_1",
    automation_name: "tidy",
    state,
    runs,
    buckets: [],
    upcoming: upcoming.map((at) => ({ at, display: at, in_quiet_hours: false })),
    upcoming_cut: false,
  };
}

test("now is in the middle", () => {
  expect(place(now, scale)).toBe(240);
});

test("a bar is as long as its run and at least four pixels wide", () => {
  const marks = pastMarks(
    lane([run("a", "succeeded", "2026-11-18T09:00:00Z"), run("b", "succeeded", "2026-11-18T12:00:00Z", 120)]),
    scale,
    now,
  );
  expect(marks.map((mark) => [mark.x, mark.width])).toEqual([
    [10, 4],
    [40, 20],
  ]);
});

test("runs that would overlap become one mark with the worst of them", () => {
  const marks = pastMarks(
    lane([
      run("a", "succeeded", "2026-11-18T09:00:00Z"),
      run("b", "failed", "2026-11-18T09:10:00Z"),
      run("c", "succeeded", "2026-11-18T09:20:00Z"),
      run("d", "succeeded", "2026-11-18T12:00:00Z"),
    ]),
    scale,
    now,
  );
  expect(marks.map((mark) => [mark.look, mark.run])).toEqual([
    ["failed", "b"],
    ["succeeded", "d"],
  ]);
  expect(marks[0]?.text).toContain("and 1 more");
});

test("a running turn reaches to now and not beyond", () => {
  const [mark] = pastMarks(lane([run("a", "running", "2026-11-19T06:00:00Z")]), scale, now);
  expect(mark && mark.x + mark.width).toBe(240);
});

test("coming runs stand right of now, and those of a paused automation would run", () => {
  const coming = comingMarks(
    lane([], ["2026-11-19T08:00:30Z", "2026-11-19T20:00:00Z"], "paused"),
    scale,
    now,
  );
  expect(coming.map((mark) => mark.look)).toEqual(["would-run", "would-run"]);
  expect(coming.every((mark) => mark.x > 240)).toBe(true);
});
