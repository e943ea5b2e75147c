/** Chooses the rows of a timeline and its period, by the room that there is. */
import type { Lane, Timeline } from "../../api/types";
import { nameOfLane } from "./marks";

export interface Row {
  key: string;
  name: string;
  /** One lane, or all lanes that have no row of their own. */
  lanes: Lane[];
}

/** Returns a row for each lane. The lanes beyond the room share the last row, so that each run has a mark. */
export function rowsOf(lanes: readonly Lane[], room: number): Row[] {
  const own = lanes.length > room ? lanes.slice(0, Math.max(0, room - 1)) : lanes;
  const rows = own.map((lane) => ({
    key: lane.automation_id ?? "conversations",
    name: nameOfLane(lane),
    lanes: [lane],
  }));
  const folded = lanes.slice(own.length);
  return folded.length === 0
    ? rows
    : [...rows, { key: "folded", name: `${folded.length} more`, lanes: folded }];
}

export interface Period {
  from: number;
  to: number;
  /** The whole hours before and after now. */
  back: number;
  ahead: number;
}

const HOUR_MS = 3_600_000;

/** A narrower plot shows fewer hours, so that runs keep marks of their own. */
const NARROW = 360;

/** Returns the part of a timeline that a plot has room for. */
export function periodOf(timeline: Timeline, now: number, width: number): Period {
  const from = Date.parse(timeline.from);
  const to = Date.parse(timeline.to);
  if (width < NARROW) return { from: now - 10 * HOUR_MS, to: now + 8 * HOUR_MS, back: 10, ahead: 8 };
  return { from, to, back: Math.round((now - from) / HOUR_MS), ahead: Math.round((to - now) / HOUR_MS) };
}
