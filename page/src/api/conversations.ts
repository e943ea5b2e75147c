/** The conversations of people: those with one agent, and those with several agents that work for no goal. */
import type { GoalSummary, Page, SessionItem } from "./types";

/** The newest goals. */
export type Goals = Page<Pick<GoalSummary, "id">>;

/**
 * The sessions with several agents that were looked at: `true` for those of goals. A session is created with its goal, so
 * that this never changes.
 */
type OfGoals = Map<string, boolean>;

/**
 * Returns the sessions that belong to no goal. The list of sessions does not say which ones do, so that this reads the goals
 * when a session is new to it.
 */
export async function withoutGoals(
  sessions: SessionItem[],
  readGoals: () => Promise<Goals>,
  ofGoals: OfGoals,
): Promise<SessionItem[]> {
  const fresh = sessions.filter(({ id }) => !ofGoals.has(id));
  if (fresh.length > 0) {
    const { items, next } = await readGoals();
    const ids = new Set(items.map(({ id }) => id));
    const oldest = items.at(-1)?.id ?? "";
    // IDs are in the order of their creation. Before the first page of goals, a session counts as one of a goal.
    for (const { id } of fresh) ofGoals.set(id, ids.has(id) || (next !== null && id < oldest));
  }
  return sessions.filter(({ id }) => ofGoals.get(id) === false);
}

/** Returns the sessions of both lists, the latest change first. */
export function merged(a: SessionItem[], b: SessionItem[]): SessionItem[] {
  if (b.length === 0) return a;
  return [...a, ...b].sort((one, other) => Date.parse(other.updated_at) - Date.parse(one.updated_at));
}
