/** Places the runs of a lane on a timeline. Runs that would overlap become one mark, never across now. */
import type { Lane, RunOutcome } from "../../api/types";
import { clock, dayAndTime, duration } from "../../kit/format";
import { type Look, lookOfRun, wordOf } from "../../kit/Status";

export interface Mark {
  key: string;
  /** The left edge, in pixels. */
  x: number;
  /** The width of a bar; 0 for a glyph. */
  width: number;
  look: Look | "due" | "would-run";
  /** What the mark says, for a tooltip and for screen readers. */
  text: string;
  /** The run that the mark opens; null for coming runs and for several runs together. */
  run: string | null;
}

/** The width of a glyph. Two marks that are closer than this become one. */
export const GLYPH = 9;
const LEAST_BAR = 4;

export interface Scale {
  from: number;
  to: number;
  width: number;
}

export function place(at: number, { from, to, width }: Scale): number {
  return ((at - from) / (to - from)) * width;
}

/** The worst first: a mark for several runs shows the worst of them. */
const WORST: Look[] = [
  "failed",
  "missed",
  "stalled",
  "waits",
  "running",
  "queued",
  "cancelled",
  "succeeded",
  "skipped",
];

function worst(looks: Look[]): Look {
  return WORST.find((look) => looks.includes(look)) ?? "succeeded";
}

function textOf(run: RunOutcome): string {
  const began = run.started_at ?? run.at;
  const lasted =
    run.started_at !== null && run.ended_at !== null
      ? `, ${duration(Date.parse(run.ended_at) - Date.parse(run.started_at))}`
      : "";
  const instants = run.occurrences > 1 ? `, ${run.occurrences} instants` : "";
  const reason = run.message ?? run.reason;
  const word = wordOf(lookOfRun(run.status));
  return `${dayAndTime(began)} ${word}${lasted}${instants}${reason ? `: ${reason}` : ""}`;
}

/** Returns the marks of what ran, from the left to the right. */
export function pastMarks(lane: Lane, scale: Scale, now: number): Mark[] {
  const marks: (Mark & { looks: Look[] })[] = [];
  const single = lane.runs.map((run) => {
    const look = lookOfRun(run.status);
    const began = Date.parse(run.started_at ?? run.at);
    const ended = run.ended_at === null ? now : Date.parse(run.ended_at);
    const isBar =
      run.started_at !== null && (look === "succeeded" || look === "running" || look === "cancelled");
    const x = Math.max(0, place(began, scale));
    const end = Math.min(place(ended, scale), place(now, scale));
    return {
      key: run.run_id,
      x,
      width: isBar ? Math.max(LEAST_BAR, end - x) : 0,
      look,
      looks: [look],
      text: textOf(run),
      run: run.run_id as string | null,
    };
  });
  const buckets = lane.buckets.map((bucket) => {
    const looks: Look[] = [];
    const words: string[] = [];
    for (const [name, number] of Object.entries(bucket.counts)) {
      const look = name as Look;
      if (number === 0) continue;
      looks.push(look);
      words.push(`${number} ${wordOf(look)}`);
    }
    const x = place(Date.parse(bucket.from), scale);
    return {
      key: bucket.from,
      x,
      width: Math.max(LEAST_BAR, place(Date.parse(bucket.to), scale) - x - 1),
      look: worst(looks),
      looks,
      text: `${dayAndTime(bucket.from)} to ${clock(bucket.to)}: ${words.join(", ")}`,
      run: null,
    };
  });
  const sorted = [...single, ...buckets].sort((a, b) => a.x - b.x);
  const counts = new Map<string, number>();
  for (const mark of sorted) {
    const before = marks.at(-1);
    const right = before === undefined ? Number.NEGATIVE_INFINITY : before.x + Math.max(before.width, GLYPH);
    if (before !== undefined && mark.x < right - 2 && mark.run !== null && before.look !== "running") {
      before.looks.push(...mark.looks);
      before.look = worst(before.looks);
      before.width = before.look === "succeeded" ? Math.max(before.width, mark.x + mark.width - before.x) : 0;
      const together = (counts.get(before.key) ?? 1) + 1;
      counts.set(before.key, together);
      before.text =
        together === 2 ? `${before.text}; ${mark.text}` : before.text.replace(/( and \d+ more)?$/, "");
      if (together > 2) before.text = `${before.text} and ${together - 2} more`;
      // The worst one is what a reader wants to open.
      if (mark.look === before.look && before.look !== "succeeded") before.run = mark.run;
    } else {
      marks.push({ ...mark });
    }
  }
  return marks.map(({ looks: _, ...mark }) => mark);
}

/** Returns the marks of the coming runs. */
export function comingMarks(lane: Lane, scale: Scale, now: number): Mark[] {
  const marks: Mark[] = [];
  const look = lane.state === "paused" ? "would-run" : "due";
  const start = place(now, scale);
  for (const run of lane.upcoming) {
    const x = Math.max(start + 2, place(Date.parse(run.at), scale));
    const before = marks.at(-1);
    if (before && x - before.x < GLYPH - 2) continue;
    const quiet = run.in_quiet_hours ? ", skipped: quiet hours" : "";
    const word = look === "due" ? "due" : "would run if it were resumed";
    marks.push({ key: run.at, x, width: 0, look, text: `${run.display} ${word}${quiet}`, run: null });
  }
  return marks;
}

/** Returns the instants of the axis: every three, six or twelve hours of the reader's clock, by the width. */
export function ticks({ from, to, width }: Scale): number[] {
  const hours = [1, 3, 6, 12, 24].find((step) => ((to - from) / 3_600_000 / step) * 72 <= width) ?? 24;
  const first = new Date(from);
  first.setMinutes(0, 0, 0);
  const found: number[] = [];
  for (let at = first.getTime(); at <= to; at += 3_600_000) {
    if (at >= from && new Date(at).getHours() % hours === 0) found.push(at);
  }
  return found;
}
