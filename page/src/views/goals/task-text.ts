/** Texts about tasks: who accepted them, and what the graph tells of them. */
import type { Task } from "../../api/types";

const DONE_BY: Partial<Record<string, string>> = {
  judge: "accepted by the judge",
  person: "accepted by a person",
  unreported: "answer without a report",
};

/** Says why a task counts as done. Null if it is not done, and for a result that its agent reported and nothing judged. */
export const doneText = ({ status, reason }: Pick<Task, "status" | "reason">): string | null =>
  (status === "DONE" && DONE_BY[reason ?? ""]) || null;

/** `true` if the judge or a person has compared the result of a task with its acceptance lines. */
export const isAccepted = ({ status, reason }: Pick<Task, "status" | "reason">): boolean =>
  status === "DONE" && (reason === "judge" || reason === "person");
