/** The words of the overview for a goal that needs a person. */
import type { WaitingGoal } from "../../api/types";
import type { Look } from "../../kit/Status";
import { visible } from "../../kit/visible";

/** Returns what a person can do about a goal that is stuck. Only some causes leave a task to retry. */
function wantedBy(cause: string | null | undefined): string {
  switch (cause) {
    case "no plan":
      return "Change its text, or message the planner, then resume it.";
    case "no verdict":
      return "Retry or accept a task, or resume the goal.";
    case "goal sent back":
      return "Accept the check, plan again, or resume the goal.";
    default:
      return "Retry, edit, accept or cancel a task, or plan again or resume the goal.";
  }
}

/** Returns the state of a goal, as the rest of a sentence about it, and what a person can do. */
export function needOfGoal({ reason, cause }: Pick<WaitingGoal, "reason" | "cause">): {
  look: Look;
  state: string;
  wanted: string;
} {
  switch (reason) {
    case "approve_plan":
      return { look: "waits", state: "has a plan", wanted: "Work begins when you approve it." };
    case "stuck":
      return {
        look: "waits",
        state: cause ? `is stuck: ${visible(cause)}` : "is stuck",
        wanted: wantedBy(cause),
      };
    case "budget":
      return {
        look: "paused",
        state: "is paused: a limit is reached",
        wanted: "Raise the limit, or cancel the goal.",
      };
    case "given_up":
      return {
        look: "failed",
        state: "has failed: it was stuck for too long",
        wanted: "Its report tells what was done.",
      };
    default:
      return { look: "waits", state: "is paused", wanted: "Resume or cancel it." };
  }
}
