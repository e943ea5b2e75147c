/** What a run is about, in words for people. */
import type { Run, RunItem, RunStatus } from "../../api/types";
import { duration, shortId } from "../../kit/format";

export type Named = Pick<RunItem, "automation_name" | "session_title" | "automation_id" | "session_id">;

/** The name of what ran: the automation, else the conversation. */
export function subjectOf(run: Named): string {
  if (run.automation_name) return run.automation_name;
  if (run.session_title) return run.session_title;
  if (run.automation_id) return `Automation ${shortId(run.automation_id)}`;
  return run.session_id ? `Conversation ${shortId(run.session_id)}` : "Run";
}

/** The event behind a run, as people know it. */
export function originOf(run: Pick<RunItem, "source" | "channel">): string {
  switch (run.source) {
    case "schedule":
      return "its schedule";
    case "on_demand":
      return "a run on demand";
    case "webhook":
      return "a webhook";
    case "person":
      return "a person";
    case "channel":
      return run.channel ? `a person in ${run.channel}` : "a person in a chat";
    case "task":
      return "a task";
    case "message":
      return "a message of an agent";
  }
}

/** The time that the turn took, or has taken so far; null if none has begun. */
export function turnTime(run: Pick<Run, "started_at" | "ended_at">, now: number): string | null {
  if (run.started_at === null) return null;
  const end = run.ended_at === null ? now : Date.parse(run.ended_at);
  return duration(end - Date.parse(run.started_at));
}

export const isOpen = (status: RunStatus): boolean =>
  status === "running" || status === "delivered" || status === "queued" || status === "deferred";

export const canRetry = (status: RunStatus): boolean =>
  status === "failed" || status === "stalled" || status === "cancelled";

/** What a person can do about a reason; null if the message says it all. */
export function adviceOf(run: Pick<Run, "reason" | "status">, agent: string | null): string | null {
  switch (run.reason) {
    case "sign_in":
      return `Sign the agent in where it runs, then check it: matins agent check ${agent ?? "NAME"}`;
    case "agent_unavailable":
    case "start_failed":
      return `The agent did not start. See why: matins agent check ${agent ?? "NAME"}`;
    case "timeout":
      return "The turn took longer than its time limit. Raise the limit, or ask for less at once.";
    case "inactivity":
      return "The agent was silent for too long. Raise the limit of silence if it works quietly.";
    case "budget":
      return "The budget was used up.";
    default:
      return null;
  }
}
