import { expect, test } from "vitest";
import type { Lane, RunOutcome } from "../../api/types";
import {
  comingMarks,
  GLYPH,
  INSET,
  layerOf,
  type Mark,
  nameOfLane,
  numbered,
  pastMarks,
  place,
  tally,
} from "./marks";

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
    started_at: turn && status !== "queued" ? at : null,
    ended_at:
      status === "running" || status === "queued" ? null : new Date(began + minutes * 60_000).toISOString(),
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

const none: ReadonlySet<string> = new Set();
const past = (lanes: Lane[], waiting = none) => pastMarks(lanes, waiting, scale, now);
const centre = (mark: Mark | undefined) => mark && mark.x + mark.width / 2;
const at = (instant: string) => place(Date.parse(instant), scale);

test("now is in the middle, and the ends leave room for a whole mark", () => {
  expect(place(now, scale)).toBe(240);
  expect(place(from, scale)).toBeGreaterThan(GLYPH / 2);
  expect(place(to, scale)).toBeLessThan(scale.width - GLYPH / 2);
});

test("the centre of each glyph is its time", () => {
  const marks = past([
    lane([
      run("a", "failed", "2026-11-18T09:00:00Z"),
      run("b", "missed", "2026-11-18T12:00:00Z"),
      run("c", "skipped", "2026-11-18T15:00:00Z"),
      run("d", "queued", "2026-11-19T07:30:00Z"),
    ]),
  ]);
  expect(marks.map(centre)).toEqual([
    at("2026-11-18T09:00:00Z"),
    at("2026-11-18T12:00:00Z"),
    at("2026-11-18T15:00:00Z"),
    at("2026-11-19T07:30:00Z"),
  ]);
  const [due] = comingMarks([lane([], ["2026-11-20T08:00:00Z"])], scale, now);
  expect(centre(due)).toBe(place(to, scale));
});

test("a bar is as long as its run, and a short one is four pixels wide around the middle of its run", () => {
  const [short, long] = past([
    lane([
      run("a", "succeeded", "2026-11-18T09:00:00Z", 2),
      run("b", "succeeded", "2026-11-18T12:00:00Z", 120),
    ]),
  ]);
  expect(short?.width).toBe(4);
  expect(centre(short)).toBeCloseTo(at("2026-11-18T09:01:00Z"));
  expect(long?.x).toBeCloseTo(at("2026-11-18T12:00:00Z"));
  expect(long && long.x + long.width).toBeCloseTo(at("2026-11-18T14:00:00Z"));
});

test("runs with one look that would overlap become one mark, which opens the newest", () => {
  const [mark, other] = past([
    lane([
      run("d", "failed", "2026-11-18T12:00:00Z"),
      run("c", "failed", "2026-11-18T09:20:00Z"),
      run("b", "failed", "2026-11-18T09:10:00Z"),
      run("a", "failed", "2026-11-18T09:00:00Z"),
    ]),
  ]);
  expect(mark).toMatchObject({ look: "failed", count: 3, run: "c" });
  expect(mark?.text).toContain("and 1 more");
  expect(centre(mark)).toBeCloseTo(at("2026-11-18T09:10:00Z"));
  expect(other).toMatchObject({ count: 1, run: "d" });
});

test("a failure hides no success at the same time, and lies on it", () => {
  const marks = past([
    lane([run("a", "failed", "2026-11-18T09:05:00Z"), run("b", "succeeded", "2026-11-18T09:00:00Z")]),
  ]);
  expect([...tally(marks)].sort()).toEqual([
    ["failed", 1],
    ["succeeded", 1],
  ]);
  expect(layerOf("failed")).toBeGreaterThan(layerOf("succeeded"));
});

test("bars of short runs never reach into the next bar", () => {
  const runs = Array.from({ length: 40 }, (_, index) =>
    run(`${index}`, "succeeded", new Date(from + index * 15 * 60_000).toISOString()),
  );
  const marks = past([lane(runs)]);
  expect(marks.length).toBeLessThan(40);
  marks.slice(1).forEach((mark, index) => {
    const before = marks[index];
    expect(before && before.x + before.width).toBeLessThan(mark.x);
  });
});

test("the marks stand for all inputs of the lanes, also for each instant of a range", () => {
  const range = { ...run("m", "missed", "2026-11-19T01:00:00Z"), occurrences: 7 };
  const runs = [
    range,
    ...Array.from({ length: 50 }, (_, index) =>
      run(
        `${index}`,
        index % 5 === 0 ? "failed" : "succeeded",
        new Date(from + index * 600_000).toISOString(),
      ),
    ),
  ];
  const counts = {
    succeeded: 9,
    failed: 2,
    stalled: 0,
    cancelled: 0,
    missed: 0,
    skipped: 0,
    running: 0,
    delivered: 0,
    queued: 0,
  };
  const crowded = {
    ...lane([]),
    buckets: [{ from: "2026-11-18T10:00:00Z", to: "2026-11-18T10:15:00Z", counts }],
  };
  const marks = past([lane(runs), crowded]);
  expect(tally(marks).get("succeeded")).toBe(40 + 9);
  expect(tally(marks).get("failed")).toBe(10 + 2);
  expect(tally(marks).get("missed")).toBe(7);
});

test("a row of several lanes names the automation of each run", () => {
  const other = { ...lane([run("b", "succeeded", "2026-11-18T12:00:00Z")]), automation_name: "standup" };
  const marks = past([lane([run("a", "succeeded", "2026-11-18T09:00:00Z")]), other]);
  expect(marks.map((mark) => mark.text.split(":")[0])).toEqual(["tidy", "standup"]);
  expect(past([other])[0]?.text).not.toContain("standup");
});

test("hidden characters of an automation's name are shown", () => {
  expect(nameOfLane({ ...lane([]), automation_name: "ti\u202edy" })).toBe("ti\\u{202e}dy");
});

test("a run that ended before the scale has no mark, and an unfinished one stands at the edge", () => {
  const early = "2026-11-18T06:00:00Z";
  const marks = past([
    lane([run("a", "failed", early), run("b", "succeeded", early), run("c", "queued", early)]),
  ]);
  expect(marks.map((mark) => [mark.look, centre(mark)])).toEqual([["queued", INSET]]);
});

test("a running turn reaches to now and not beyond", () => {
  const [mark] = past([lane([run("a", "running", "2026-11-19T06:00:00Z")])]);
  expect(mark && mark.x + mark.width).toBeCloseTo(240);
});

test("a turn that waits for a person stands at now", () => {
  const [mark] = past([lane([run("a", "running", "2026-11-19T06:00:00Z")])], new Set(["a"]));
  expect([mark?.look, centre(mark)]).toEqual(["waits", 240]);
});

test("coming runs stand at now or right of it, and those of a paused automation would run", () => {
  const coming = comingMarks(
    [lane([], ["2026-11-19T07:59:30Z", "2026-11-19T20:00:00Z"], "paused")],
    scale,
    now,
  );
  expect(coming.map((mark) => mark.look)).toEqual(["would-run", "would-run"]);
  expect(coming.map(centre)).toEqual([240, at("2026-11-19T20:00:00Z")]);
});

test("a mark for several inputs has a number, unless that of a worse mark is there", () => {
  const mark = (look: Mark["look"], x: number, count: number): Mark => ({
    key: `${look} ${x}`,
    x,
    width: 9,
    look,
    count,
    text: "",
    run: null,
  });
  const [one, three, two, far] = [
    mark("succeeded", 10, 1),
    mark("succeeded", 30, 3),
    mark("failed", 33, 2),
    mark("succeeded", 60, 12),
  ];
  const marks = [one, three, two, far].filter((each) => each !== undefined);
  expect([...numbered(marks)].map((each) => each.count).sort()).toEqual([12, 2]);
});
