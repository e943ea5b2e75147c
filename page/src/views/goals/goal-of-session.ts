import { useQuery } from "@tanstack/react-query";
import { get } from "../../api/client";
import { keys } from "../../api/queries";
import type { Goal, Session } from "../../api/types";

/** Returns the goal for which the seats of a session work; undefined if there is none, and until it is read. */
export function useGoalOf({ id, kind }: Pick<Session, "id" | "kind">): Goal | undefined {
  return useQuery({
    queryKey: [...keys.goal(id), "of"],
    queryFn: ({ signal }) => get<Goal>(`/goals/${id}`, {}, signal),
    enabled: kind === "background",
  }).data;
}
