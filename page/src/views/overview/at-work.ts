/** The goals at work, which the overview finds among the running turns. */
import type { Count, RunItem } from "../../api/types";
import { goalOf } from "../runs/words";

type Turn = Pick<RunItem, "source" | "session_id" | "waits_for_approval">;

/** The server lists at most so many of the running turns, the newest first. */
const LISTED_TURNS = 10;

/** Counts the goals with a turn that waits for no person. `running` is the number of all running turns. */
export function goalsAtWork(turns: readonly Turn[], running: number): Count {
  const goals = new Set(turns.filter((turn) => !turn.waits_for_approval).map(goalOf));
  goals.delete(null);
  return { count: goals.size, more: turns.length >= LISTED_TURNS && running > turns.length };
}
