/** Actions on goals and their tasks. */
import { post } from "../../api/client";
import { keys, queryClient } from "../../api/queries";
import type { Goal, GoalSummary, Task } from "../../api/types";
import { errorText } from "../../kit/ErrorState";
import { toast } from "../../kit/Toast";
import { outcomeText, staysPaused } from "./moves";
import type { Move, TaskMove } from "./words";

type Named = Pick<GoalSummary, "id">;
type Stated = Pick<GoalSummary, "id" | "state">;

export function refetchGoal(id: string): void {
  queryClient.invalidateQueries({ queryKey: keys.goals });
  queryClient.invalidateQueries({ queryKey: keys.goal(id) });
}

/** Moves a goal, and returns it. Throws the refusal of the server. */
export async function postMove(goal: Named, move: Move): Promise<Goal> {
  try {
    return await post<Goal>(`/goals/${goal.id}/${move}`);
  } finally {
    // Also after a refusal, because another person may have been faster.
    refetchGoal(goal.id);
  }
}

const INVERSE: Partial<Record<Move, Move>> = { pause: "resume", resume: "pause" };

/** The goals that are on their way to another state, by their IDs. */
const underWay = new Set<string>();
/** The goals, as the page has read them, that have another state by now. */
const outdated = new WeakSet<Stated>();

/**
 * Moves a goal at once. What can be undone gets Undo. Does nothing until the page has the result of an earlier move,
 * because a double click would make the same move twice.
 */
export async function moveGoal(goal: Stated, move: Move): Promise<void> {
  if (underWay.has(goal.id) || outdated.has(goal)) return;
  underWay.add(goal.id);
  try {
    const moved = await postMove(goal, move);
    // The same move of a goal that stays paused may do more once a person has raised its limit.
    if (moved.state !== goal.state) outdated.add(goal);
    const inverse = staysPaused(moved, move) ? undefined : INVERSE[move];
    const undo = async (back: Move) => {
      const undone = await postMove(goal, back);
      if (staysPaused(undone, back)) toast(outcomeText(undone, back));
    };
    toast(outcomeText(moved, move), inverse ? () => undo(inverse) : null);
  } catch (error) {
    toast(errorText(error));
  } finally {
    underWay.delete(goal.id);
  }
}

/** Moves a task. The planner gets the comment as a message. Throws the refusal of the server. */
export async function moveTask(task: Task, move: TaskMove, comment: string): Promise<void> {
  const text = comment.trim();
  try {
    await post<Task>(`/tasks/${task.id}/${move}`, { body: text === "" ? {} : { comment: text } });
  } finally {
    refetchGoal(task.goal_id);
  }
}
