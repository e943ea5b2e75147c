/** What a move of a goal has brought, and what a person can do about a goal that is paused. */
import { hasStatus } from "../../api/problem";
import type { Goal, GoalSummary, Task } from "../../api/types";
import { type Move, movesOfTask, reachedText, replanRefusal, stateOfGoal, titleOfGoal } from "./words";

const DONE: Record<Move, string> = {
  start: "is started",
  pause: "is paused",
  resume: "is resumed",
  cancel: "is cancelled",
  replan: "gets another plan",
};

type Answered = Pick<Goal, "state" | "reason" | "phase" | "cause" | "title" | "goal" | "limit_usage">;

/** `true` if a goal that was to go on is paused all the same, as with a limit that is used up. */
export const staysPaused = ({ state }: Pick<GoalSummary, "state">, move: Move): boolean =>
  (move === "start" || move === "resume") && state === "paused";

/** Says what a move has brought. `goal` is the answer of the server to it. */
export function outcomeText(goal: Answered, move: Move): string {
  const title = titleOfGoal(goal);
  if (!staysPaused(goal, move)) return `${title} ${DONE[move]}`;
  const why = goal.reason === "budget" ? reachedText(goal) : null;
  return `${title} cannot go on: ${why ?? stateOfGoal(goal).word}`;
}

/** Returns why a goal does not go on although its limits were raised; null if it does. `goal` is the answer to the edit. */
export function stillReachedText(goal: Answered): string | null {
  if (goal.state !== "paused" || goal.reason !== "budget") return null;
  return `It is saved. ${outcomeText(goal, "resume")}. A goal goes on below 90 % of each limit.`;
}

/** Says when the planner plans again. A paused goal starts no turn. */
export function replanText({ state, reason }: Pick<GoalSummary, "state" | "reason">): string {
  if (state !== "paused") return "The planner plans again";
  const then =
    reason === "budget"
      ? "the limit is raised"
      : reason === "approve_plan"
        ? "you approve the present plan"
        : "the goal is resumed";
  return `The planner plans again once ${then}`;
}

/** Returns why a goal cannot be cancelled any more; null if the failure may be another one. */
export const endedText = (error: unknown): string | null =>
  hasStatus(error, 409) ? "It has ended meanwhile, so that nothing is left to cancel." : null;

const FIELDS = { cost: "cost", tokens: "tokens", turns: "limits.turns", time: "until" } as const;

/** Returns the field of an edit that raises the first limit which a goal has reached; null if it has reached none. */
export function reachedField({ limit_usage: limits }: Partial<Pick<Goal, "limit_usage">>): string | null {
  const reached = limits?.find(({ level }) => level !== "enough");
  return reached === undefined ? null : FIELDS[reached.limit];
}

type StuckGoal = Pick<
  Goal,
  "state" | "cause" | "seats" | "limits" | "plan_version" | "replans" | "replan_limit"
>;

/** What a person can do about a goal that is stuck. */
export interface Advice {
  /** The tasks that hold it up. */
  tasks: Task[];
  text: string;
}

/** Returns what a person can do about a goal that is stuck, by its cause. Each of it lets the goal go on. */
export function adviceOf(goal: StuckGoal, tasks: readonly Task[]): Advice {
  const failed = tasks.filter(({ status }) => status === "FAILED");
  const work = failed.filter(({ kind, optional }) => kind === "work" && !optional);
  const last = (kind: Task["kind"]) => failed.filter((task) => task.kind === kind).slice(-1);
  const hasPlanLeft = replanRefusal(goal) === null;
  const planAgain = hasPlanLeft ? ", or let the planner plan again" : "";
  switch (goal.cause) {
    case "no plan":
      return {
        tasks: last("plan"),
        text: "There is no first plan. If the planner lacks something, change the text under “Edit…”, or message it, then resume. “Resume” lets it plan again.",
      };
    case "no verdict":
      return {
        tasks: tasks.filter((task) => task.status === "RUNNING" && movesOfTask(goal, task).includes("retry")),
        text: "A review gave no verdict. Retry the task to repeat the review, or accept it as it is. “Resume” repeats all reviews.",
      };
    case "goal sent back":
      return {
        tasks: last("check"),
        text: `The judge sent the whole back as often as its limits permit. ${
          hasPlanLeft
            ? "Accept the check to end the goal without another plan. “Resume” lets the planner plan about the findings, and then repeats the check."
            : "Accept the check to end the goal. “Resume” repeats the check."
        }`,
      };
    case "no progress":
      return {
        tasks: work,
        text: `Its last turns, as many as its limits permit, brought no finished task, no new artifact and no new plan. Message a seat, then resume. Or add a task, or retry, edit, replace, accept or cancel one${planAgain}. “Resume” permits as many turns again.`,
      };
  }
  const offline = goal.seats.filter(({ state }) => state === "offline").map(({ name }) => name);
  if (work.length === 0 && offline.length > 0)
    return {
      tasks: [],
      text: `Offline: ${offline.join(", ")}. It goes on by itself when their server is back.`,
    };
  if (work.length === 0) return { tasks: [], text: `Resume it${planAgain}.` };
  const [what, it] = work.length === 1 ? ["The task has", "it"] : ["The tasks have", "each of them"];
  return { tasks: work, text: `${what} failed. Retry, edit, replace, accept or cancel ${it}${planAgain}.` };
}
