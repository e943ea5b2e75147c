/** Texts about tasks: who accepted them, and what the graph tells of them. */
import type { Task } from "../../api/types";
import { duration } from "../../kit/format";
import { visible } from "../../kit/visible";
import { roundText, seatAndRound, stateOfTask } from "./words";

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

/** The time that a task has taken until its end, or until now. Null if it has not begun. */
function timeText({ started_at: start, ended_at: end }: Pick<Task, "started_at" | "ended_at">, now: number) {
  return start ? duration((end ? Date.parse(end) : now) - Date.parse(start)) : null;
}

/**
 * Returns the line of the graph below the key of a task: the thing for which it waits, else its seat with its time or, from
 * the second round on, with its round.
 */
export function nodeText(task: Task, now: number): string {
  const { look, word } = stateOfTask(task);
  if (task.waits_for && look !== "waits") return `waits for ${visible(task.waits_for)}`;
  const step = task.status === "RUNNING" && task.step !== "work" ? word : null;
  const progress = roundText(task.round, task.round_limit) ?? timeText(task, now);
  return [step, task.seat, progress].filter(Boolean).join(", ") || word;
}

/** Returns all that the graph tells of a task, as the name for screen readers and as the tooltip. */
export function nodeName(task: Task): string {
  const waits = task.waits_for && `waits for ${visible(task.waits_for)}`;
  // The time of a task that runs would change the name each second.
  const time = task.ended_at && timeText(task, Date.now());
  const parts = [visible(task.key), stateOfTask(task).word, seatAndRound(task), time, waits];
  return parts.filter(Boolean).join(", ");
}
