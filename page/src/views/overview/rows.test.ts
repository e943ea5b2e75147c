import { expect, test } from "vitest";
import type { Lane, Timeline } from "../../api/types";
import { periodOf, rowsOf } from "./rows";

const lanes: Lane[] = ["tidy", "standup", "audit", null].map((name) => ({
  automation_id: name === null ? null : `aut_${name}`,
  automation_name: name,
  state: "enabled",
  runs: [],
  buckets: [],
  upcoming: [],
  upcoming_cut: false,
}));

test("each lane has a row if there is room", () => {
  expect(rowsOf(lanes, 4).map((row) => row.name)).toEqual(["tidy", "standup", "audit", "Conversations"]);
});

test("the lanes beyond the room share the last row, and none is lost", () => {
  const rows = rowsOf(lanes, 3);
  expect(rows.map((row) => row.name)).toEqual(["tidy", "standup", "2 more"]);
  expect(rows.flatMap((row) => row.lanes)).toEqual(lanes);
});

test("a narrow plot shows fewer hours of the timeline", () => {
  const now = Date.parse("2026-11-19T08:00:00Z");
  const timeline: Timeline = {
    now: "2026-11-19T08:00:00Z",
    from: "2026-11-18T08:00:00Z",
    to: "2026-11-20T08:00:00Z",
    lanes: [],
    lanes_cut: false,
    runs_cut: false,
  };
  expect(periodOf(timeline, now, 792)).toMatchObject({ back: 24, ahead: 24 });
  const narrow = periodOf(timeline, now, 200);
  expect(narrow).toMatchObject({ back: 10, ahead: 8 });
  expect(new Date(narrow.from).toISOString()).toBe("2026-11-18T22:00:00.000Z");
});
