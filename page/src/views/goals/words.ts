/** Goals, tasks and seats as people see them: a shape and words for each state. */
import type { Goal, GoalSeat, GoalSummary, GoalUsage, Money, Task, TaskDetails } from "../../api/types";
import { count, money, plural } from "../../kit/format";
import type { Look } from "../../kit/Status";
import { visible } from "../../kit/visible";
import { titleFrom } from "../conversations/names";
import { isOpen } from "./task-form";

export interface State {
  look: Look;
  word: string;
}

type Stated = Pick<GoalSummary, "state" | "reason" | "phase" | "cause"> &
  Partial<Pick<GoalSummary, "open_questions" | "open_approvals">>;

/** The state of a goal. A goal that only a person can move waits for that person. */
export function stateOfGoal({ state, reason, phase, cause, ...open }: Stated): State {
  switch (state) {
    case "draft":
      return { look: "draft", word: "draft" };
    case "active":
      // A server of the version before counts neither.
      if (open.open_questions || open.open_approvals) return { look: "waits", word: "waits for you" };
      return { look: "running", word: phase ?? "active" };
    case "paused":
      if (reason === "approve_plan") return { look: "waits", word: "its plan waits for you" };
      if (reason === "stuck") return { look: "waits", word: cause ? `stuck: ${visible(cause)}` : "stuck" };
      if (reason === "budget") return { look: "paused", word: "paused: a limit is reached" };
      return { look: "paused", word: "paused" };
    case "done":
      return { look: "done", word: "done" };
    case "failed":
      if (reason === "cancelled") return { look: "cancelled", word: "cancelled" };
      return { look: "failed", word: reason === "given_up" ? "failed: given up" : "failed" };
  }
}

/** The name of a goal in lists: its title, else the beginning of its text. */
export function titleOfGoal({ title, goal }: Pick<GoalSummary, "title" | "goal">): string {
  return visible(title || titleFrom(goal));
}

/** The key that a person gave to a goal. Null for one that the server made from the ID. */
export const givenKey = ({ key }: Partial<Pick<Goal, "key">>): string | null =>
  key == null || /^cli:[0-9a-f]{32}$/.test(key) ? null : key;

export const isOver = ({ state }: Pick<GoalSummary, "state">): boolean =>
  state === "done" || state === "failed";

type StatedTask = Pick<Task, "status" | "step" | "waits_for">;

/** `true` if a check cannot run, or no judge gives a verdict: the server says then that the task waits for a person. */
function isBroken({ status, waits_for }: Pick<Task, "status" | "waits_for">): boolean {
  return status === "RUNNING" && (waits_for?.startsWith("a person,") ?? false);
}

/** `true` if no turn of a task goes on before its goal does. */
export function isHeld({ status, waits_for }: Pick<Task, "status" | "waits_for">): boolean {
  return status === "RUNNING" && (waits_for?.startsWith("the goal, which is ") ?? false);
}

/** The state of a task. A running one may wait for a person, or for its goal. */
export function stateOfTask({ status, step, waits_for }: StatedTask): State {
  switch (status) {
    case "PENDING":
      return { look: "queued", word: "pending" };
    case "READY":
      return { look: "queued", word: "ready" };
    case "RUNNING":
      if (isBroken({ status, waits_for })) return { look: "waits", word: "waits for you" };
      if (isHeld({ status, waits_for })) return { look: "queued", word: "waits" };
      if (step === "question") return { look: "waits", word: "asks you" };
      if (step === "checks") return { look: "running", word: "checks run" };
      if (step === "review") return { look: "running", word: "in review" };
      return { look: "running", word: "running" };
    case "DONE":
      return { look: "succeeded", word: "done" };
    case "FAILED":
      return { look: "failed", word: "failed" };
    case "CANCELLED":
      return { look: "cancelled", word: "cancelled" };
  }
}

/** A server of the version before says `gone` of a removed seat. */
type SeatState = GoalSeat["state"] | "gone" | "removed";

/** The state of a seat. In a draft, its messages wait until the start of the goal. */
export function stateOfSeat({ state }: { state: SeatState }, goal: Pick<Goal, "state">): State {
  switch (state) {
    case "free":
      return { look: "queued", word: "free" };
    case "busy":
      return goal.state === "draft" ? { look: "queued", word: "waits" } : { look: "running", word: "busy" };
    case "offline":
      return { look: "paused", word: "offline" };
    case "removed":
    case "gone":
      return { look: "failed", word: "removed" };
  }
}

export const PHASES: { kind: Task["kind"]; phase: GoalSummary["phase"]; label: string }[] = [
  { kind: "plan", phase: "planning", label: "Plan" },
  { kind: "work", phase: "working", label: "Work" },
  { kind: "check", phase: "checking", label: "Check" },
  { kind: "report", phase: "reporting", label: "Report" },
];

/**
 * The state of a phase, which follows from its tasks. An optional task that failed, and one that a plan or a person has
 * cancelled, keep a phase from success only if no task is done. The end of a failed goal cancels tasks that it needed.
 */
export function lookOfPhase(
  { state }: Pick<Goal, "state">,
  tasks: readonly Pick<Task, "status" | "optional" | "waits_for">[],
): Look {
  const has = (...wanted: Task["status"][]) => tasks.some(({ status }) => wanted.includes(status));
  const runs = tasks.some((task) => task.status === "RUNNING" && !isHeld(task));
  if (state === "active" && runs) return "running";
  if (tasks.some(({ status, optional }) => status === "FAILED" && !optional)) return "failed";
  if (runs) return "running";
  if (tasks.length === 0 || has("PENDING", "READY", "RUNNING")) return "queued";
  if (has("DONE") && !(state === "failed" && has("CANCELLED"))) return "succeeded";
  return has("CANCELLED") ? "cancelled" : "failed";
}

/** Why a task has failed or was cancelled. The server names findings by their IDs, whose texts the panel shows. */
export const reasonText = ({ reason }: Pick<Task, "reason">): string | null =>
  reason?.startsWith("not accepted") ? "not accepted" : (reason ?? null);

/** The seat of a task and the round of its work, such as `worker-2, round 2 of 3`. */
export function seatAndRound({
  seat,
  round,
  round_limit,
}: Pick<Task, "seat" | "round" | "round_limit">): string {
  return [seat, roundText(round, round_limit)].filter(Boolean).join(", ");
}

/** The round of the work; null in the first one. The API counts the rounds that are over. */
export function roundText(round: number, limit: number): string | null {
  return round === 0 ? null : `round ${Math.min(round + 1, limit)} of ${limit}`;
}

export const kindText = ({ kind }: Pick<Task, "kind">): string | null =>
  kind === "work"
    ? null
    : kind === "plan"
      ? "a plan"
      : kind === "check"
        ? "the check of the whole"
        : "the report";

/** The result of a task; null without one, and if the panel has it already as the cause of the failure. */
export const resultOf = ({ result, cause }: Pick<Task, "result" | "cause">): string | null =>
  result === cause ? null : result;

/** `true` for a result of work, shown as such or as the cause of a failure, without a call of a tool. */
export const mayBeInvented = ({
  kind,
  result,
  tool_calls,
}: Pick<TaskDetails, "kind" | "result" | "tool_calls">): boolean =>
  kind === "work" && Boolean(result) && tool_calls === 0;

const sum = ({ amount, currency }: Money): string => money(Number(amount), currency);

/** The cost so far; null if no agent has reported any. */
export function costText({ cost }: Pick<GoalUsage, "cost">): string | null {
  return cost.length === 0 ? null : cost.map(sum).join(" + ");
}

/** The limit of the cost; null if there is none. */
export function costLimit({ budget }: Pick<GoalSummary, "budget">): string | null {
  return budget?.cost ? sum(budget.cost) : null;
}

/** The share of the cost limit that is used; null without a limit, or without a cost in its currency. */
export function costShare({ budget, usage }: Pick<GoalSummary, "budget" | "usage">): number | null {
  const limit = budget?.cost;
  if (!limit || Number(limit.amount) <= 0) return null;
  const used = usage.cost.find((each) => each.currency === limit.currency);
  return used === undefined ? 0 : shareOf(Number(used.amount), Number(limit.amount));
}

/** Returns a part of a whole, from 0 to 1. */
export function shareOf(part: number, whole: number): number {
  return whole > 0 ? Math.min(1, Math.max(0, part / whole)) : 0;
}

/** The turns that the cost lacks: under a budget of money those without a cost, otherwise those without any usage. */
export function unreportedText({ usage, budget }: Pick<GoalSummary, "usage" | "budget">): string | null {
  // A server of the version before does not count the turns without a cost.
  const withoutCost = budget?.cost ? (usage.runs_without_cost ?? 0) : 0;
  if (withoutCost > 0) return `${plural(withoutCost, "turn")} reported no cost`;
  const silent = usage.unreported_runs;
  return silent === 0 ? null : `${plural(silent, "turn")} reported no usage`;
}

/** The turns of a seat and their cost, or their tokens without one, such as `3 turns, $0.42`. */
export function seatUsageText(
  seat: Partial<Pick<GoalSeat, "turns" | "usage">>,
  goal: Pick<GoalSummary, "budget">,
): string | null {
  const { turns, usage } = seat;
  // A server of the version before sends neither.
  if (turns === undefined || usage === undefined) return null;
  if (turns === 0) return "no turn";
  const cost = costText(usage) ?? (usage.tokens === null ? null : `${count(usage.tokens)} tokens`);
  const lacks =
    cost === null && usage.unreported_runs > 0
      ? "usage not reported"
      : unreportedText({ usage, budget: goal.budget });
  return [plural(turns, "turn"), cost, lacks].filter(Boolean).join(", ");
}

/** The limits that a goal has reached, such as `tokens: 1180 of 700, used up`. */
export function reachedText({ limit_usage: limits }: Partial<Pick<Goal, "limit_usage">>): string | null {
  const reached = (limits ?? []).filter(({ level }) => level !== "enough");
  return reached.length === 0 ? null : reached.map(({ limit, text }) => `${limit}: ${text}`).join("; ");
}

/** The commands by which a person moves a goal, in the order of the head. */
export type Move = "start" | "pause" | "resume" | "cancel" | "replan";

/** Returns the moves that the state of a goal permits. `replanRefusal` says whether a further plan is left. */
export function movesOf({ state }: Pick<Goal, "state">): Move[] {
  switch (state) {
    case "draft":
      return ["start", "cancel"];
    case "active":
      return ["pause", "replan", "cancel"];
    case "paused":
      return ["resume", "replan", "cancel"];
    default:
      return [];
  }
}

/**
 * Returns the move of the key `p` and of the palette. Null while a plan waits for approval or a limit is reached, because
 * a person looks at the plan and raises the limit first.
 */
export function toggleOf({ state, reason }: Pick<Goal, "state" | "reason">): "pause" | "resume" | null {
  if (state === "active") return "pause";
  return state === "paused" && reason !== "approve_plan" && reason !== "budget" ? "resume" : null;
}

/** The move of a goal that a person makes at once, by one button. A limit that is used up must be raised first. */
export function directMoveOf({
  state,
  reason,
}: Pick<Goal, "state" | "reason">): { move: Move; word: string } | null {
  switch (state) {
    case "draft":
      return { move: "start", word: "Start" };
    case "active":
      return { move: "pause", word: "Pause" };
    case "paused":
      if (reason === "budget") return null;
      return { move: "resume", word: reason === "approve_plan" ? "Approve the plan" : "Resume" };
    default:
      return null;
  }
}

export const openTasks = ({ tasks }: Pick<GoalSummary, "tasks">): number =>
  tasks.pending + tasks.ready + tasks.running;

/** Returns why the server makes no further plan; null if it does. */
export function replanRefusal(goal: Pick<Goal, "plan_version" | "replans" | "replan_limit">): string | null {
  if (goal.plan_version === 0 || goal.replans < goal.replan_limit) return null;
  const { replan_limit: limit } = goal;
  if (limit === 0) return "Its limits permit no further plan. “Edit…” raises them.";
  return `${limit === 1 ? "The further plan was" : `All ${limit} further plans were`} made. “Edit…” raises the limit.`;
}

export type TaskMove = "retry" | "accept" | "cancel";

type MovedTask = Pick<Task, "kind" | "status" | "step" | "optional" | "seat" | "waits_for">;

/** Returns the moves that the server accepts for a task in its state. */
export function movesOfTask(goal: Pick<Goal, "state" | "seats">, task: MovedTask): TaskMove[] {
  if (isOver(goal)) return [];
  const { kind, status } = task;
  const failed = status === "FAILED";
  const open = status === "PENDING" || status === "READY" || status === "RUNNING";
  const broken = isBroken(task);
  const moves: TaskMove[] = [];
  if (broken || (failed && kind === "work")) moves.push("retry");
  if ((kind === "work" || kind === "check") && (failed || broken || isJudged(goal, task)))
    moves.push("accept");
  if (open ? kind === "work" || kind === "plan" : failed && kind === "work" && !task.optional)
    moves.push("cancel");
  return moves;
}

/** `true` if the server accepts an edit of a task: one of the plan that has not begun, or has failed. */
export const isEditable = (goal: Pick<Goal, "state">, task: Pick<Task, "kind" | "status">): boolean =>
  !isOver(goal) && task.kind === "work" && isOpen(task);

/** `true` for a failed task of the plan, which its panel offers to replace. The form replaces open ones, too. */
export const isReplaceable = (goal: Pick<Goal, "state">, { kind, status }: Pick<Task, "kind" | "status">) =>
  !isOver(goal) && kind === "work" && status === "FAILED";

/** `true` if the judge has the task, also while the judge waits for an answer. */
function isJudged(goal: Pick<Goal, "seats">, { status, step, seat }: MovedTask): boolean {
  if (status !== "RUNNING") return false;
  if (step !== "question") return step === "review";
  return goal.seats.some(({ name, role }) => name === seat && role === JUDGE);
}

export const JUDGE = "judge";
