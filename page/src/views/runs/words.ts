/** What a run is about, in words for people. */
import type { BlockedOn, Run, RunDelivery, RunItem, RunStatus } from "../../api/types";
import { sentence } from "../../kit/ErrorState";
import { dayAndTime, duration, longTime, plural, shortId } from "../../kit/format";
import { visible } from "../../kit/visible";

export type Named = Pick<RunItem, "automation_name" | "session_title" | "automation_id" | "session_id">;

/** The name of what ran: the automation, else the conversation. */
export function subjectOf(run: Named): string {
  if (run.automation_name) return visible(run.automation_name);
  if (run.session_title) return visible(run.session_title);
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

/** Returns the goal of a turn that a task has started; null for other runs. The goal alone repeats such a turn. */
export const goalOf = ({ source, session_id }: Pick<RunItem, "source" | "session_id">): string | null =>
  source === "task" ? session_id : null;

export const canRetry = (run: Pick<RunItem, "status" | "source" | "session_id">): boolean =>
  goalOf(run) === null && (run.status === "failed" || run.status === "stalled" || run.status === "cancelled");

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
    case "instance_gone":
      return "Place the automation on another instance, or begin another conversation.";
    default:
      return null;
  }
}

/** Says what a run waits for. */
export function blockedText(blocked: BlockedOn): string {
  switch (blocked.for) {
    case "worker":
      return "Until a server takes the turn.";
    case "approval":
      return "For a person, who allows or denies what the agent asks.";
    case "answer":
      return "For a person, who answers the question of the agent.";
    case "instance":
      return `Until a server serves the instance ${visible(blocked.name)} again.`;
    case "delivery":
      return blocked.reason === null
        ? `Until its file is in the folder of ${visible(blocked.name)}.`
        : `Its file cannot be written into the folder of ${visible(blocked.name)}. ${sentence(visible(blocked.reason))}${
            blocked.until === null ? "" : ` The next attempt is at ${dayAndTime(blocked.until)}.`
          }`;
    case "runtime":
      return `Delivered to ${visible(blocked.name)} at ${dayAndTime(blocked.delivered_at)}, not begun. ${
        blocked.online ? "Its runtime takes it in its turn." : "No runtime watches the folder now."
      }`;
    case "directory":
      return "Until a server that has its directory takes the turn.";
    case "backoff":
      return `Until ${dayAndTime(blocked.until)}, before the next attempt.`;
    case "budget":
      return `${sentence(visible(blocked.reason))} Until ${dayAndTime(blocked.until)}.`;
    case "session":
      return `Until the conversation, which is ${blocked.state}, is active.`;
    case "run":
      return "Until the run before it has ended.";
    default:
      return "For its turn in the queue.";
  }
}

/** Says when the trigger file of a run was written; null if it was not written yet. */
export function deliveryText({ delivered_at: at, writes }: RunDelivery): string | null {
  if (at === null) return null;
  return writes > 1 ? `${longTime(at)}, written ${plural(writes, "time")}` : longTime(at);
}
