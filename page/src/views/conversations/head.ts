/** What the head of a conversation says, and what a person can do there. A goal comes before its session. */
import type { Goal, OpenRun, SessionView } from "../../api/types";
import { plural } from "../../kit/format";
import { fileTitle, type Look, lookOfSession } from "../../kit/Status";
import { directMoveOf, isOver, type Move, openTasks, stateOfGoal, titleOfGoal } from "../goals/words";

/** The goal of a conversation: null if there is none, undefined until that is known. */
type KnownGoal<T extends keyof Goal> = Pick<Goal, T> | null | undefined;

export interface HeadState {
  look: Look;
  word?: string;
  title?: string;
}

type Running = Pick<OpenRun, "status" | "blocked_on">;

/** The state of a conversation; null if there is nothing to say. */
export function stateOfHead(
  view: Pick<SessionView, "state"> & { open_runs: readonly Running[] },
  goal: KnownGoal<"state" | "reason" | "phase" | "cause" | "open_questions" | "open_approvals">,
  waitsForYou: boolean,
): HeadState | null {
  if (waitsForYou) return { look: "waits" };
  // A paused session holds the turns of its goal back, although the goal is not paused.
  if (goal != null && view.state !== "paused") return stateOfGoal(goal);
  if (view.open_runs.some((run) => run.status === "running")) return { look: "running" };
  const look = lookOfSession(view.state);
  if (look !== null) return { look };
  const file = view.open_runs.find((run) => run.blocked_on?.for === "runtime")?.blocked_on;
  return file?.for === "runtime" ? { look: "delivered", title: fileTitle(file.name) } : null;
}

/** The move of a conversation that a person makes at once, by one button. */
export type HeadMove = { word: string; label: string; hasKey: boolean } & (
  | { of: "session"; move: "pause" | "resume" | "enable" }
  | { of: "goal"; move: Move }
);

/** Returns that move; null if there is none, and until it is known whether a goal is moved. */
export function moveOfHead(
  view: Pick<SessionView, "state">,
  goal: KnownGoal<"state" | "reason">,
): HeadMove | null {
  if (goal === undefined) return null;
  if (goal !== null && view.state !== "paused") {
    const direct = directMoveOf(goal);
    if (direct === null) return null;
    const { word } = direct;
    return {
      of: "goal",
      ...direct,
      label: goal.reason === "approve_plan" ? word : `${word} the goal`,
      // The key pauses, and takes a pause back. It starts no goal and approves no plan.
      hasKey: direct.move === "pause" || goal.reason === "person",
    };
  }
  switch (view.state) {
    case "active":
      return { of: "session", move: "pause", word: "Pause", label: "Pause conversation", hasKey: true };
    case "paused":
      return { of: "session", move: "resume", word: "Resume", label: "Resume conversation", hasKey: true };
    case "draft":
      return { of: "session", move: "enable", word: "Enable", label: "Enable conversation", hasKey: false };
    default:
      return null;
  }
}

type Ending = Pick<Goal, "state" | "title" | "goal" | "tasks">;

/** Says what the completion of a conversation changes. It cancels a goal that is not over. */
export function completionText(goal: Ending | null): string {
  if (goal === null || isOver(goal))
    return "A running turn ends as usual. Waiting inputs are cancelled, and new ones are refused. This cannot be undone.";
  return `It cancels the goal “${titleOfGoal(goal)}”, which cannot go on then: its running turns are asked to stop, and ${plural(openTasks(goal), "open task")} will not be done. Files and the report stay. Waiting inputs are cancelled, and new ones are refused. This cannot be undone.`;
}

/** Says what the deletion of a conversation removes. */
export function deletionText(goal: Ending | null): string {
  if (goal === null) return "The whole transcript goes for good.";
  const rest = isOver(goal)
    ? ""
    : ` It is not over: ${plural(openTasks(goal), "open task")} will not be done.`;
  return `The whole transcript goes for good, and so does the goal “${titleOfGoal(goal)}” with its tasks, messages, artifacts, memory and report.${rest}`;
}
