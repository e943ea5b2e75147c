/** The words of the overview for a goal that waits for a person. */
import type { WaitingGoal } from "../../api/types";
import { visible } from "../../kit/visible";

/** Returns the state of a goal, as the rest of a sentence about it, and what a person can do. */
export function needOfGoal({ reason, cause }: Pick<WaitingGoal, "reason" | "cause">): {
  state: string;
  wanted: string;
} {
  switch (reason) {
    case "approve_plan":
      return { state: "has a plan", wanted: "Work begins when you approve it." };
    case "stuck":
      return {
        state: cause ? `is stuck: ${visible(cause)}` : "is stuck",
        wanted: "Retry, accept or cancel a task, or replan or resume the goal.",
      };
    case "budget":
      return { state: "is paused: a limit is reached", wanted: "Raise the limit, or cancel the goal." };
    default:
      return { state: "is paused", wanted: "Resume or cancel it." };
  }
}
