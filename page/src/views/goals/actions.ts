/** Actions on goals and their tasks. */
import { post } from "../../api/client";
import { keys, queryClient } from "../../api/queries";
import type { Goal, GoalSummary, Task } from "../../api/types";
import { errorText } from "../../kit/ErrorState";
import { toast } from "../../kit/Toast";
import { outcomeText, staysPaused } from "./moves";
import type { Move, TaskMove } from "./words";

type Named = Pick<GoalSummary, "id">;

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

/** Moves a goal at once. What can be undone gets Undo. */
export async function moveGoal(goal: Named, move: Move): Promise<void> {
  try {
    const moved = await postMove(goal, move);
    const inverse = staysPaused(moved, move) ? undefined : INVERSE[move];
    const undo = async (back: Move) => {
      const undone = await postMove(goal, back);
      if (staysPaused(undone, back)) toast(outcomeText(undone, back));
    };
    toast(outcomeText(moved, move), inverse ? () => undo(inverse) : null);
  } catch (error) {
    toast(errorText(error));
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
