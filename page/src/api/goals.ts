/** The types of goals and their tasks. */
import type { Money, RunStatus } from "./types";

export type GoalState = "draft" | "active" | "paused" | "done" | "failed";
export type GoalReason = "person" | "budget" | "stuck" | "approve_plan" | "cancelled" | "given_up";
export type GoalPhase = "planning" | "working" | "checking" | "reporting";
export type TaskKind = "plan" | "work" | "check" | "report";
export type TaskStatus = "PENDING" | "READY" | "RUNNING" | "DONE" | "FAILED" | "CANCELLED";
export type TaskStep = "work" | "checks" | "review" | "question";
export type GoalSeatState = "free" | "busy" | "offline" | "gone";

export interface TaskCounts {
  total: number;
  done: number;
  running: number;
  ready: number;
  pending: number;
  failed: number;
  cancelled: number;
}

export interface GoalUsage {
  tokens?: number | null;
  cost: Money[];
  /** The number of runs whose agents reported no usage. */
  unreported_runs: number;
}

export interface GoalBudget {
  tokens?: number | null;
  cost?: Money | null;
}

export interface GoalSummary {
  /** The ID of the goal's session. */
  id: string;
  key?: string | null;
  title: string | null;
  goal: string;
  state: GoalState;
  reason?: GoalReason | null;
  /** The cause for which the goal is stuck. */
  cause?: string | null;
  phase?: GoalPhase | null;
  team: string;
  tasks: TaskCounts;
  turns: number;
  turn_limit: number;
  usage: GoalUsage;
  budget?: GoalBudget | null;
  until?: string | null;
  created_at: string;
  updated_at: string;
  ended_at?: string | null;
}

export interface GoalSeat {
  id: string;
  name: string;
  role: string;
  agent: string;
  state: GoalSeatState;
  /** The key of the task on which the seat works. */
  task?: string | null;
}

export interface Goal extends GoalSummary {
  plan_version: number;
  replans: number;
  replan_limit: number;
  seats: GoalSeat[];
  limits: Record<string, number>;
  /** The command of each check. */
  checks: Record<string, string>;
  check_at?: string | null;
  questions: { id: string; seat: string; text: string; default?: string | null; deadline: string }[];
  directory?: string | null;
}

export interface GoalRequest {
  goal: string;
  team?: string;
  team_file?: { name: string; text: string };
  agent?: string;
  cwd?: string;
  budget?: { tokens?: number; cost?: Money };
  until?: string;
  verify?: string[];
  approve_plan?: boolean;
  draft?: boolean;
}

export interface GoalPatch {
  goal?: string;
  limits?: Record<string, number>;
  budget?: GoalBudget | null;
  until?: string;
}

export interface GoalReport {
  goal: string;
  state: GoalState;
  reason?: GoalReason | null;
  /** Markdown. */
  text: string;
  /** `true` if the goal is over, so that the report does not change any more. */
  complete: boolean;
}

export interface Task {
  id: string;
  goal_id: string;
  key: string;
  title: string;
  kind: TaskKind;
  role: string;
  status: TaskStatus;
  step?: TaskStep | null;
  seat?: string | null;
  /** The number of rounds in which checks or the judge sent the task back. */
  round: number;
  round_limit: number;
  attempts: number;
  optional: boolean;
  review: boolean;
  priority: number;
  plan_version: number;
  depends_on: string[];
  waits_for?: string | null;
  reason?: string | null;
  result?: string | null;
  created_at: string;
  started_at?: string | null;
  ended_at?: string | null;
}

export interface TaskFinding {
  id: string;
  text: string;
  severity: "blocker" | "minor";
  from: string;
}

export interface TaskRun {
  id: string;
  status: RunStatus;
  prompt?: string | null;
  seat: string;
  started_at?: string | null;
  ended_at?: string | null;
}

export interface TaskDetails extends Task {
  description: string;
  acceptance: string[];
  writes: string[];
  checks: string[];
  artifacts: string[];
  findings: TaskFinding[];
  evidence: string[];
  runs: TaskRun[];
}

export interface TaskList {
  plan_version: number;
  tasks: Task[];
}

/** Returns the session of an event about a task; null for other events. */
export function goalOfTaskEvent(event: { kind: string }): string | null {
  return event.kind === "task" ? ((event as { session_id?: string | null }).session_id ?? null) : null;
}
