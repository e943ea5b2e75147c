import { useQuery } from "@tanstack/react-query";
import { get } from "../../api/client";
import { hasStatus } from "../../api/problem";
import { keys } from "../../api/queries";
import type { Goal, Session } from "../../api/types";

/** Returns the goal for which the seats of a session work: null if there is none, undefined until that is known. */
export function useGoalOf({ id, kind }: Pick<Session, "id" | "kind">): Goal | null | undefined {
  const isBackground = kind === "background";
  const { data, error } = useQuery({
    queryKey: [...keys.goal(id), "of"],
    queryFn: ({ signal }) => get<Goal>(`/goals/${id}`, {}, signal),
    enabled: isBackground,
  });
  return !isBackground || hasStatus(error, 404) ? null : data;
}
