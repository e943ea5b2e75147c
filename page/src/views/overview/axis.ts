/** Places the hours of a timeline and their names, beside the flag that shows the present time. */
import { clock, dayHeading } from "../../kit/format";
import { place, type Scale } from "./marks";

export interface Tick {
  at: number;
  /** The place of the line, in pixels. */
  x: number;
  /** The middle of the name. It is beside the line where the flag or an edge leaves no room above the line. */
  labelX: number;
  label: string;
  isMidnight: boolean;
}

/** Half of the width of the flag. */
export const FLAG = 22;
/** Half of the width of a name. */
const LABEL = 18;
/** The distance at which a name clears the flag. */
const CLEAR = FLAG + LABEL + 1;
/** A name farther beside its line would seem to belong to another hour. */
const MAX_SHIFT = 14;

const HOUR_MS = 3_600_000;

/**
 * Returns the hours of the reader's clock, as many as the width has room for. Each has a name: an hour that the flag
 * covers is left out, because a line without a name says nothing.
 */
export function ticks(scale: Scale, now: number): Tick[] {
  const { from, to, width } = scale;
  const hours = [1, 3, 6, 12, 24].find((step) => ((to - from) / HOUR_MS / step) * 72 <= width) ?? 24;
  const flag = place(now, scale);
  const first = new Date(from);
  first.setMinutes(0, 0, 0);
  const found: Tick[] = [];
  for (let at = first.getTime(); at <= to; at += HOUR_MS) {
    const hour = new Date(at).getHours();
    if (at < from || hour % hours !== 0) continue;
    const x = place(at, scale);
    const side = x < flag ? -1 : 1;
    const clear = Math.abs(x - flag) < CLEAR ? flag + side * CLEAR : x;
    const labelX = Math.min(Math.max(clear, LABEL), width - LABEL);
    if (Math.abs(labelX - x) > MAX_SHIFT) continue;
    const instant = new Date(at).toISOString();
    const isMidnight = hour === 0;
    found.push({
      at,
      x,
      labelX,
      label: isMidnight ? dayHeading(instant).slice(0, 3) : clock(instant),
      isMidnight,
    });
  }
  return found;
}
