/**
 * Places the runs of lanes on a timeline. Runs with one look that would overlap become one mark, never across now. Runs
 * with different looks keep marks of their own, so that the marks of each look add up to the number of its runs.
 */
import type { Lane, RunOutcome, TimelineBucket } from "../../api/types";
import { clock, dayAndTime, duration } from "../../kit/format";
import { type Look, lookOfRun, wordOf } from "../../kit/Status";
import { visible } from "../../kit/visible";

export type MarkLook = Look | "due" | "would-run";

export interface Mark {
  key: string;
  /** The left edge, in pixels. The centre of a glyph is its time. */
  x: number;
  width: number;
  look: MarkLook;
  /** The number of inputs for which the mark stands. */
  count: number;
  /** The words for a tooltip and for screen readers. */
  text: string;
  /** The newest run of the mark, which the mark opens; null for coming runs and for parts of a day. */
  run: string | null;
}

/** The width of a glyph. */
export const GLYPH = 9;
/** The least width of a bar. */
export const LEAST_BAR = 4;
/** The space beside the scale, so that marks at its ends are whole. */
export const INSET = 6;
/** Marks of one look may overlap by this much before they become one. */
const OVERLAP = 2;

export interface Scale {
  from: number;
  to: number;
  width: number;
}

/** Returns the horizontal place of an instant, in pixels. */
export function place(at: number, { from, to, width }: Scale): number {
  return INSET + ((at - from) / (to - from)) * (width - 2 * INSET);
}

/** Looks from the worst to the best. */
const WORST: readonly Look[] = [
  "failed",
  "stalled",
  "missed",
  "waits",
  "queued",
  "delivered",
  "running",
  "skipped",
  "cancelled",
  "succeeded",
];

/** The looks in the order in which marks are drawn: a worse one lies on a better one. */
export const layerOf = (look: MarkLook): number => WORST.length - WORST.indexOf(look as Look);

/** Returns the worst look of a part of a day; null if the part has no run. */
export function worstOf({ counts }: TimelineBucket): Look | null {
  return WORST.find((look) => (counts as Partial<Record<Look, number>>)[look]) ?? null;
}

const isBar = (look: MarkLook): boolean => look === "succeeded" || look === "running" || look === "cancelled";

/** Returns the edges of a mark from the first to the last instant; glyphs and short bars lie around their middle. */
function extent(look: MarkLook, left: number, right: number): { x: number; width: number } {
  const width = isBar(look) ? Math.max(LEAST_BAR, right - left) : GLYPH;
  return { x: (left + right - width) / 2, width };
}

/** A mark before those that overlap become one. */
interface Single {
  key: string;
  /** The places of its first and its last instant. */
  left: number;
  right: number;
  look: MarkLook;
  count: number;
  text: string;
  run: string | null;
}

/** A row of several lanes names the lane of each run. */
const prefixOf = (lane: Lane, lanes: readonly Lane[]): string =>
  lanes.length > 1 ? `${nameOfLane(lane)}: ` : "";

export const nameOfLane = (lane: Lane): string => visible(lane.automation_name ?? "Conversations");

function textOf(run: RunOutcome, look: Look): string {
  const began = run.started_at ?? run.at;
  const lasted =
    run.started_at !== null && run.ended_at !== null
      ? `, ${duration(Date.parse(run.ended_at) - Date.parse(run.started_at))}`
      : "";
  const instants = run.occurrences > 1 ? `, ${run.occurrences} instants` : "";
  const reason = run.message ?? run.reason;
  return `${dayAndTime(began)} ${wordOf(look)}${lasted}${instants}${reason ? `: ${reason}` : ""}`;
}

/** Returns the mark of a run; null if the run ended before the scale begins. */
function ofRun(run: RunOutcome, waiting: ReadonlySet<string>, scale: Scale, now: number): Single | null {
  const status = lookOfRun(run);
  const look = status === "running" && waiting.has(run.run_id) ? "waits" : status;
  const began = Date.parse(run.started_at ?? run.at);
  const ended = run.ended_at === null ? now : Date.parse(run.ended_at);
  // A turn that waits for a person does so now. Other glyphs stand where their runs began.
  const from = look === "waits" ? now : began;
  const to = isBar(look) && run.started_at !== null ? Math.max(began, ended) : from;
  if (run.ended_at !== null && to < scale.from) return null;
  const left = Math.max(place(from, scale), INSET);
  return {
    key: run.run_id,
    left,
    right: Math.max(left, Math.min(place(to, scale), Math.max(left, place(now, scale)))),
    look,
    // The row of a missed or skipped range stands for its instants.
    count: look === "missed" || look === "skipped" ? run.occurrences : 1,
    text: textOf(run, look),
    run: run.run_id,
  };
}

/** Returns the marks of a part of a day: one for each look. */
function ofBucket(bucket: TimelineBucket, scale: Scale): Single[] {
  if (Date.parse(bucket.to) <= scale.from) return [];
  const left = Math.max(place(Date.parse(bucket.from), scale), INSET);
  const right = place(Date.parse(bucket.to), scale) - 1;
  const middle = (left + right) / 2;
  const during = `${dayAndTime(bucket.from)} to ${clock(bucket.to)}`;
  return WORST.flatMap((look) => {
    const count = (bucket.counts as Partial<Record<Look, number>>)[look] ?? 0;
    if (count === 0) return [];
    return {
      key: `${bucket.from} ${look}`,
      left: isBar(look) ? left : middle,
      right: isBar(look) ? right : middle,
      look,
      count,
      text: `${during}: ${count} ${wordOf(look)}`,
      run: null,
    };
  });
}

/** Joins the marks of each look that would overlap. Returns the marks from the left to the right. */
function join(singles: readonly Single[]): Mark[] {
  const batches: Single[][] = [];
  const latest = new Map<MarkLook, Single[]>();
  for (const single of [...singles].sort((a, b) => a.left - b.left)) {
    const batch = latest.get(single.look);
    const first = batch?.[0];
    if (batch && first && overlaps(single, first, batch)) batch.push(single);
    else {
      const begun = [single];
      latest.set(single.look, begun);
      batches.push(begun);
    }
  }
  const marks = batches.map(ofBatch).sort((a, b) => a.x - b.x);
  // A bar of short runs would otherwise reach into the next one.
  const next = new Map<MarkLook, number>();
  for (const mark of [...marks].reverse()) {
    const limit = next.get(mark.look);
    if (isBar(mark.look) && limit !== undefined && mark.x + mark.width > limit - 1)
      mark.width = Math.max(LEAST_BAR - 1, limit - 1 - mark.x);
    next.set(mark.look, mark.x);
  }
  return marks;
}

function overlaps(single: Single, first: Single, batch: readonly Single[]): boolean {
  if (single.left - first.left < GLYPH - OVERLAP) return true;
  return isBar(single.look) && single.left < Math.max(...batch.map((each) => each.right)) - OVERLAP;
}

function ofBatch(batch: readonly Single[]): Mark {
  const [first, second] = batch;
  const last = batch.at(-1);
  if (first === undefined || last === undefined) throw new Error("A batch has a mark.");
  const more = batch.length > 2 ? ` and ${batch.length - 2} more` : "";
  return {
    key: first.key,
    ...extent(first.look, first.left, Math.max(...batch.map((each) => each.right))),
    look: first.look,
    count: batch.reduce((sum, each) => sum + each.count, 0),
    text: second === undefined ? first.text : `${first.text}; ${second.text}${more}`,
    run: last.run,
  };
}

/** Returns the marks of past and open runs, from the left to the right. `waiting` are runs that wait for a person. */
export function pastMarks(
  lanes: readonly Lane[],
  waiting: ReadonlySet<string>,
  scale: Scale,
  now: number,
): Mark[] {
  const singles = lanes.flatMap((lane) => {
    const prefix = prefixOf(lane, lanes);
    const marks = [
      ...lane.runs.map((run) => ofRun(run, waiting, scale, now)),
      ...lane.buckets.flatMap((bucket) => ofBucket(bucket, scale)),
    ].filter((mark) => mark !== null);
    return marks.map((mark) => ({
      ...mark,
      key: `${prefix}${mark.key}`,
      text: prefix + mark.text,
    }));
  });
  return join(singles);
}

/** Returns the marks of the coming runs of lanes. */
export function comingMarks(lanes: readonly Lane[], scale: Scale, now: number): Mark[] {
  const singles = lanes.flatMap((lane) => {
    const prefix = prefixOf(lane, lanes);
    const look: MarkLook = lane.state === "paused" ? "would-run" : "due";
    const word = look === "due" ? "due" : "would run if it were resumed";
    return lane.upcoming
      .filter((run) => Date.parse(run.at) <= scale.to)
      .map((run) => {
        // A due instant that has just passed still comes.
        const centre = place(Math.max(now, Date.parse(run.at)), scale);
        const quiet = run.in_quiet_hours ? ", skipped: quiet hours" : "";
        return {
          key: `${prefix}${run.at}`,
          left: centre,
          right: centre,
          look,
          count: 1,
          text: `${prefix}${run.display} ${word}${quiet}`,
          run: null,
        };
      });
  });
  return join(singles);
}

/** Returns the numbers of inputs for which marks stand, by look. */
export function tally(marks: readonly Mark[]): Map<MarkLook, number> {
  const counts = new Map<MarkLook, number>();
  for (const { look, count } of marks) counts.set(look, (counts.get(look) ?? 0) + count);
  return counts;
}

/** The width of a digit above a mark. */
const DIGIT = 7;

/**
 * Returns the marks that carry their number: those that stand for several inputs. Where two numbers would overlap, the
 * number of the worse mark stands.
 */
export function numbered(marks: readonly Mark[]): Set<Mark> {
  const several = marks.filter((mark) => mark.count > 1).sort((a, b) => layerOf(b.look) - layerOf(a.look));
  const half = (mark: Mark) => (String(mark.count).length * DIGIT) / 2;
  const centre = (mark: Mark) => mark.x + mark.width / 2;
  const shown: Mark[] = [];
  for (const mark of several) {
    const isFree = shown.every(
      (each) => Math.abs(centre(each) - centre(mark)) >= half(each) + half(mark) + 1,
    );
    if (isFree) shown.push(mark);
  }
  return new Set(shown);
}
