/** The queries of a goal and of its tasks, which are read again while servers can be lost. */
import { queryOptions } from "@tanstack/react-query";
import { get, request } from "../../api/client";
import { keys } from "../../api/queries";
import type { Goal, TaskList } from "../../api/types";

/** The loss of a server changes seats and tasks without an event of the session. */
const REFETCH_MS = 15_000;

const refetchMs = ({ state }: Pick<Goal, "state">): number | false =>
  state === "active" || state === "paused" ? REFETCH_MS : false;

/** A goal with the version that an edit of it names. */
export interface StoredGoal {
  goal: Goal;
  etag: string | null;
}

/** `id` is the ID of the goal, or its key. */
export const storedGoalOf = (id: string) =>
  queryOptions({
    queryKey: [...keys.goal(id), "itself"],
    queryFn: async ({ signal }): Promise<StoredGoal> => {
      const { data, etag } = await request<Goal>("GET", `/goals/${encodeURIComponent(id)}`, { signal });
      return { goal: data, etag };
    },
    refetchInterval: ({ state }) => state.data !== undefined && refetchMs(state.data.goal),
  });

export const taskListOf = (goal: Pick<Goal, "id" | "state">) =>
  queryOptions({
    queryKey: [...keys.goal(goal.id), "tasks"],
    queryFn: ({ signal }) => get<TaskList>(`/sessions/${goal.id}/tasks`, {}, signal),
    refetchInterval: refetchMs(goal),
  });
