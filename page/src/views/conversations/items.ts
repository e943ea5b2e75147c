/** Groups the rows of a transcript into the items that the page shows. All functions are pure. */
import type { Message, Run, Seat } from "../../api/types";
import { sameDay } from "../../kit/format";
import { type Diff, diffsOf, toolOf } from "./tools";
import { isAnswer, type Transcript } from "./transcript";

export interface Work {
  thoughts: Message[];
  tools: Message[];
  denied: Message[];
  plan: Message | null;
}

export type Item =
  | { kind: "day"; key: string; at: string }
  | { kind: "trigger"; key: string; run: Run | undefined; row: Message; name: string }
  | { kind: "task"; key: string; row: Message; seat: string; task: string }
  | { kind: "person"; key: string; row: Message; receiver?: string }
  | { kind: "work"; key: string; work: Work }
  | { kind: "diff"; key: string; diff: Diff }
  | { kind: "failed-tool"; key: string; row: Message; denied: boolean }
  | { kind: "answer"; key: string; text: string; live: boolean; seat?: string }
  | { kind: "notice"; key: string; row: Message }
  | { kind: "working"; key: string; run: Run }
  | { kind: "end"; key: string; run: Run; at: string };

interface Turn {
  run: string | null;
  rows: Message[];
  /** `true` if the run has no later rows. Rows of other runs may separate those of one run. */
  isLast: boolean;
}

function turnsOf(rows: readonly Message[]): Turn[] {
  const turns: Turn[] = [];
  for (const row of rows) {
    const last = turns.at(-1);
    if (last && row.run_id != null && last.run === row.run_id) last.rows.push(row);
    else turns.push({ run: row.run_id ?? null, rows: [row], isLast: true });
  }
  const later = new Set<string | null>();
  for (const turn of turns.toReversed()) {
    turn.isLast = !later.has(turn.run);
    later.add(turn.run);
  }
  return turns;
}

/** The name of the automation that sent a row; null if a person sent it. */
export function automationOf(row: Message): string | null {
  const metadata = row.metadata as { automation_name?: unknown } | null;
  return typeof metadata?.automation_name === "string" ? metadata.automation_name : null;
}

/** The seat and the task whose prompt a row is; null if it is none. */
export function taskOf(row: Message): { seat: string; task: string } | null {
  const { _to_name: seat, _task_key: task } = (row.metadata ?? {}) as {
    _to_name?: unknown;
    _task_key?: unknown;
  };
  return typeof seat === "string" && typeof task === "string" ? { seat, task } : null;
}

/** The seat to which a person sent a row apart from the queue of inputs; null for every other row. */
function namedReceiver(row: Message): string | null {
  const { _to_name: name } = (row.metadata ?? {}) as { _to_name?: unknown };
  return typeof name === "string" ? name : null;
}

/** `true` if a person sent the row. */
export const isFromPerson = (row: Message): boolean =>
  row.role === "user" && automationOf(row) === null && taskOf(row) === null;

/** Returns the names of seats by ID; none for a session with one seat, whose agent needs no name. */
export function namesOfSeats(seats: readonly Pick<Seat, "id" | "name">[]): ReadonlyMap<string, string> {
  return new Map(seats.length > 1 ? seats.map((seat) => [seat.id, seat.name]) : []);
}

const DONE = new Set(["succeeded", "failed", "cancelled", "stalled", "skipped", "missed"]);
export const isOver = (run: Run): boolean => DONE.has(run.status);

/** A part of the answer of a turn, between two things that the agent did. */
interface Part {
  part: number;
  text: string;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The number of bytes of the answer before a row; null if the row has no place in the answer. */
function positionOf(row: Message): number | null {
  const { answer_position: position } = (row.metadata ?? {}) as { answer_position?: unknown };
  return typeof position === "number" ? position : null;
}

/**
 * Places thoughts, tools, plans and permission requests of one turn within its answer, as far as the server says where
 * they stood. `text` is the answer, or what is written of it.
 */
export function placed(rows: readonly Message[], text: string): (Message | Part)[] {
  const bytes = encoder.encode(text);
  const placedRows: (Message | Part)[] = [];
  let written = 0;
  let parts = 0;
  const write = (until: number) => {
    if (until <= written) return;
    placedRows.push({ part: parts, text: decoder.decode(bytes.subarray(written, until)) });
    parts += 1;
    written = until;
  };
  for (const row of rows) {
    const position = positionOf(row);
    if (position !== null) write(Math.min(position, bytes.length));
    placedRows.push(row);
  }
  write(bytes.length);
  return placedRows;
}

/** The agent's IDs of the tool calls that a rule or a person denied. */
export function deniedCalls(rows: readonly Message[]): ReadonlySet<string> {
  const calls = new Set<string>();
  for (const row of rows) {
    if (row.kind !== "permission") continue;
    const { decision, tool_call_id: call } = (row.metadata ?? {}) as {
      decision?: string;
      tool_call_id?: string;
    };
    if (decision === "denied" && call !== undefined) calls.add(call);
  }
  return calls;
}

function addTurn(
  items: Item[],
  turn: Turn,
  run: Run | undefined,
  live: string | undefined,
  seats: ReadonlyMap<string, string>,
): void {
  const id = turn.run ?? turn.rows[0]?.id ?? "";
  let work: Work | null = null;
  let visible: Item[] = [];
  const flush = () => {
    if (work === null) return;
    const first = work.thoughts[0] ?? work.tools[0] ?? work.denied[0] ?? work.plan;
    items.push({ kind: "work", key: `work:${first?.id}`, work }, ...visible);
    work = null;
    visible = [];
  };
  const begin = (): Work => {
    work ??= { thoughts: [], tools: [], denied: [], plan: null };
    return work;
  };
  const seatId = turn.rows.find((row) => row.seat_id)?.seat_id ?? run?.seat_id;
  const name = seatId == null ? undefined : seats.get(seatId);
  // The first part of an answer alone has the name.
  let seat = name === undefined ? {} : { seat: name };
  const answer = (key: string, text: string, live: boolean) => {
    items.push({ kind: "answer", key, text, live, ...seat });
    seat = {};
  };
  const answers = turn.rows.filter(isAnswer);
  const answered = answers.length > 0;
  const denied = deniedCalls(turn.rows);
  // With several answers nobody knows to which one a position belongs.
  const only = answers.length === 1 ? answers[0]?.content : answered ? undefined : live;
  const entries =
    only === undefined
      ? turn.rows
      : placed(
          turn.rows.filter((row) => !isAnswer(row)),
          only,
        );
  for (const row of entries) {
    if ("part" in row) {
      flush();
      // The key of the live text, so that the final row takes its place without a jump.
      const key = row.part === 0 ? `answer:${id}` : `answer:${id}:${row.part}`;
      answer(key, row.text, !answered);
    } else if (row.kind === "thought") begin().thoughts.push(row);
    else if (row.kind === "plan") begin().plan = row;
    else if (row.kind === "permission") {
      const { decision } = (row.metadata ?? {}) as { decision?: string };
      if (decision === "denied") begin().denied.push(row);
    } else if (row.kind === "tool_call") {
      begin().tools.push(row);
      for (const [index, diff] of diffsOf(row).entries()) {
        visible.push({ kind: "diff", key: `diff:${row.id}:${index}`, diff });
      }
      if (toolOf(row).status === "failed") {
        visible.push({
          kind: "failed-tool",
          key: `tool:${row.id}`,
          row,
          denied: denied.has(toolOf(row).call),
        });
      }
    } else {
      flush();
      if (isAnswer(row)) {
        answer(`answer:${row.id}`, row.content, false);
      } else if (row.role === "user") {
        const [automation, task] = [automationOf(row), taskOf(row)];
        if (automation !== null) items.push({ kind: "trigger", key: row.id, row, name: automation, run });
        else if (task !== null) items.push({ kind: "task", key: row.id, row, ...task });
        else {
          // The agent of a session with one seat has no name.
          const receiver = seats.size === 0 ? null : (namedReceiver(row) ?? name ?? null);
          items.push({ kind: "person", key: row.id, row, ...(receiver !== null && { receiver }) });
        }
      } else {
        items.push({ kind: "notice", key: row.id, row });
      }
    }
  }
  flush();
  const last = turn.rows.at(-1);
  if (!turn.isLast) return;
  if (run?.status === "running" && !live && !answered) {
    items.push({ kind: "working", key: `end:${id}`, run });
  } else if (run && isOver(run) && last) {
    items.push({ kind: "end", key: `end:${id}`, run, at: run.ended_at ?? last.created_at });
  }
}

/** Returns the items of a transcript. `zone` separates the days, and `seats` names the seats of answers. */
export function itemsOf(
  transcript: Transcript,
  runs: ReadonlyMap<string, Run>,
  zone?: string,
  seats: ReadonlyMap<string, string> = new Map(),
): Item[] {
  const items: Item[] = [];
  let previous: string | null = null;
  const shown = new Set<string>();
  for (const turn of turnsOf(transcript.rows)) {
    const at = turn.rows[0]?.created_at;
    if (at !== undefined && (previous === null || !sameDay(previous, at, zone))) {
      items.push({ kind: "day", key: `day:${turn.rows[0]?.id}`, at });
    }
    if (at !== undefined) previous = at;
    const run = turn.run === null ? undefined : runs.get(turn.run);
    if (turn.run !== null) shown.add(turn.run);
    // The end of the rows is where the answer will be.
    const live = turn.run !== null && turn.isLast ? transcript.live.get(turn.run)?.text : undefined;
    addTurn(items, turn, run, live, seats);
  }
  // Text of a turn whose first row has not arrived.
  for (const [run, live] of transcript.live) {
    if (!shown.has(run)) items.push({ kind: "answer", key: `answer:${run}`, text: live.text, live: true });
  }
  return items;
}

/** `true` if the values are the same, or objects or lists of equal values down to a depth. */
function isEqual(a: unknown, b: unknown, depth: number): boolean {
  if (Object.is(a, b)) return true;
  if (depth === 0 || typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  const [left, right] = [Object.entries(a), b as Record<string, unknown>];
  return (
    left.length === Object.keys(right).length &&
    left.every(([field, value]) => field in right && isEqual(value, right[field], depth - 1))
  );
}

/** The rows are this deep in an item of work: item, work, list. Rows are the same objects as long as they stay. */
const ROW_DEPTH = 3;

/**
 * Returns `items` with those of `before` in place of equal ones, so that a piece of live text draws no row again but its
 * own.
 */
export function keepEqual(before: readonly Item[], items: readonly Item[]): Item[] {
  const known = new Map(before.map((item) => [item.key, item]));
  return items.map((item) => {
    const old = known.get(item.key);
    return old !== undefined && isEqual(old, item, ROW_DEPTH) ? old : item;
  });
}

/** Returns the plan of the last turn that has one. */
export function latestPlan(transcript: Transcript): Message | null {
  return transcript.rows.findLast((row) => row.kind === "plan") ?? null;
}
