/** The transcript of one conversation: rows, and the text that running turns are writing. All functions are pure. */
import type { Message, Run, TraceEvent } from "../../api/types";

/** The text of a running turn. `end` is the position after it, in bytes, as the server counts. */
export interface LiveText {
  text: string;
  end: number;
}

export interface Transcript {
  /** In the order of their `seq`, without a gap from the first one to the last one. */
  rows: readonly Message[];
  /** `true` if older rows can be loaded. */
  hasOlder: boolean;
  live: ReadonlyMap<string, LiveText>;
  /** The runs of which a piece of text is missing: fetch their text. */
  gaps: ReadonlySet<string>;
  /** The runs that have ended, as far as the trace and the rows say. Late pieces of their text are ignored. */
  ended: ReadonlySet<string>;
  deleted: boolean;
}

export const EMPTY: Transcript = {
  rows: [],
  hasOlder: false,
  live: new Map(),
  gaps: new Set(),
  ended: new Set(),
  deleted: false,
};

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Adds rows, or replaces those with the same ID. */
export function mergeRows(rows: readonly Message[], incoming: readonly Message[]): readonly Message[] {
  if (incoming.length === 0) return rows;
  const last = rows.at(-1);
  const only = incoming.length === 1 ? incoming[0] : undefined;
  // The usual case is one new row at the end.
  if (only && (last === undefined || only.seq > last.seq)) return [...rows, only];
  const byId = new Map(rows.map((row) => [row.id, row]));
  for (const row of incoming) byId.set(row.id, row);
  return [...byId.values()].sort((a, b) => a.seq - b.seq);
}

/** Adds a piece of text. Returns `null` if the piece does not follow, so that the text must be fetched. */
export function mergeDelta(live: LiveText | undefined, position: number, text: string): LiveText | null {
  const { text: present, end } = live ?? { text: "", end: 0 };
  if (position > end) return null;
  const bytes = encoder.encode(text);
  const known = end - position;
  if (known >= bytes.length) return { text: present, end };
  const added = known === 0 ? text : decoder.decode(bytes.subarray(known));
  return { text: present + added, end: position + bytes.length };
}

/** `true` for the row that contains the answer of a turn, which the end of its run writes. */
export function isAnswer(row: Pick<Message, "role" | "kind">): boolean {
  return row.role === "assistant" && row.kind === "message";
}

/** Removes the live text of runs that have ended, because the rows contain it now. */
function endRuns(state: Transcript, runs: readonly string[]): Transcript {
  const added = runs.filter((run) => !state.ended.has(run) || state.live.has(run) || state.gaps.has(run));
  if (added.length === 0) return state;
  const live = new Map(state.live);
  const gaps = new Set(state.gaps);
  for (const run of added) {
    live.delete(run);
    gaps.delete(run);
  }
  return { ...state, live, gaps, ended: new Set([...state.ended, ...added]) };
}

/** Sets the rows. An answer among them ends its run, because the trace may have skipped the event of its end. */
export function setRows(state: Transcript, rows: readonly Message[], hasOlder: boolean): Transcript {
  const answered = rows.flatMap((row) => (isAnswer(row) && row.run_id ? [row.run_id] : []));
  return endRuns({ ...state, rows, hasOlder }, answered);
}

/** Sets the text of a running turn, as `show_live_text` returns it. A later piece may be there already. */
export function setLiveText(state: Transcript, run: string, text: string, end: number): Transcript {
  // The response may come after the end of the run, although the server sent it before.
  if (state.ended.has(run)) return state;
  const gaps = new Set(state.gaps);
  gaps.delete(run);
  const present = state.live.get(run);
  if (end === 0 || (present && present.end >= end)) return { ...state, gaps };
  return { ...state, gaps, live: new Map(state.live).set(run, { text, end }) };
}

/** Returns the running turns whose text, or a piece of it, the trace did not bring. */
export function withoutText(
  { live, gaps, ended }: Transcript,
  runs: readonly Pick<Run, "id" | "status">[],
): string[] {
  const lacks = (id: string) => !ended.has(id) && (gaps.has(id) || !live.has(id));
  return runs.flatMap(({ id, status }) => (status === "running" && lacks(id) ? [id] : []));
}

const ENDED = new Set(["succeeded", "failed", "cancelled", "stalled", "skipped", "missed"]);

/** Applies an event of the session's trace. */
export function applyEvent(state: Transcript, event: TraceEvent): Transcript {
  switch (event.kind) {
    case "delta": {
      if (state.ended.has(event.run_id)) return state;
      const merged = mergeDelta(state.live.get(event.run_id), event.position, event.text);
      if (merged === null) {
        return state.gaps.has(event.run_id)
          ? state
          : { ...state, gaps: new Set(state.gaps).add(event.run_id) };
      }
      return { ...state, live: new Map(state.live).set(event.run_id, merged) };
    }
    case "message": {
      const { message } = event;
      if (message == null) return { ...state, rows: state.rows.filter((row) => row.id !== event.message_id) };
      const first = state.rows[0];
      // Older than all that is loaded: paging brings it.
      if (first && message.seq < first.seq && state.hasOlder) return state;
      const next = { ...state, rows: mergeRows(state.rows, [message]) };
      return isAnswer(message) && message.run_id ? endRuns(next, [message.run_id]) : next;
    }
    case "run":
      return ENDED.has(event.change.status) ? endRuns(state, [event.run_id]) : state;
    case "resync": {
      // The events that ended the other runs are lost.
      const open = new Set(event.runs.map((run) => run.id));
      return endRuns(
        state,
        [...state.live.keys(), ...state.gaps].filter((run) => !open.has(run)),
      );
    }
    case "session_deleted":
      return { ...state, deleted: true };
    default:
      return state;
  }
}
