/** Refetches the shared queries that an event of the tenant's feed has made stale. */
import { useEffect, useRef } from "react";
import { keys, queryClient } from "../api/queries";
import type { TraceEvent } from "../api/types";
import { useFeedState, useTenantEvents } from "../live/client";
import { refetchFailed } from "./reach";

/** Several events often come together, as at the end of a turn. */
const GATHER_MS = 250;

const ENDED = new Set(["succeeded", "failed", "cancelled", "stalled"]);

const stale = new Set<string>();
let timer: ReturnType<typeof setTimeout> | undefined;

function refetchSoon(key: readonly string[]): void {
  stale.add(JSON.stringify(key));
  if (timer !== undefined) return;
  timer = setTimeout(() => {
    timer = undefined;
    const gathered = [...stale];
    stale.clear();
    for (const each of gathered) queryClient.invalidateQueries({ queryKey: JSON.parse(each) as string[] });
  }, GATHER_MS);
}

/** Tools of agents write without events of their own, so the end of a run makes stale all that its turn can have written. */
function toolKeys(event: Extract<TraceEvent, { kind: "run" }>): (readonly string[])[] {
  const { session_id: session, automation_id: automation } = event;
  if (!session || !ENDED.has(event.change.status)) return [];
  return [keys.memory(automation ?? session), keys.artifacts(session)];
}

export function staleKeys(event: TraceEvent): (readonly string[])[] {
  switch (event.kind) {
    case "session":
      return [
        keys.sessions,
        keys.session(event.session_id),
        keys.goals,
        keys.goal(event.session_id),
        keys.waitingGoals,
      ];
    case "goal":
      return [
        ...(event.session_id ? [keys.goals, keys.goal(event.session_id)] : []),
        keys.waitingGoals,
        keys.overview,
      ];
    case "task":
      return event.session_id ? [keys.goals, keys.goal(event.session_id)] : [];
    case "run":
      return [
        keys.runs,
        keys.overview,
        keys.timeline,
        ...(event.session_id ? [keys.sessions, keys.session(event.session_id)] : []),
        ...(event.automation_id ? [keys.automations] : []),
        // A turn of a goal changes the turns, the usage and the seats.
        ...(event.session_id && !event.automation_id ? [keys.goals, keys.goal(event.session_id)] : []),
        ...toolKeys(event),
      ];
    case "approval":
      return [keys.approvals, keys.runs, keys.overview, keys.goals, keys.goal(event.session_id)];
    case "question":
      return [keys.questions, keys.overview, keys.goals, keys.goal(event.session_id)];
    case "automation":
      return [keys.automations, keys.overview, keys.timeline];
    case "message":
      return [
        ...(event.role === "user" ? [keys.sessions] : []),
        ...(event.to_seat_id ? [keys.goal(event.session_id)] : []),
      ];
    default:
      return [];
  }
}

/** Refetches what an event has made stale. */
export function refetchAfter(event: TraceEvent): void {
  if (event.kind === "feed_resync") queryClient.restartQueries();
  else for (const key of staleKeys(event)) refetchSoon(key);
}

export function useLiveQueries(): void {
  useTenantEvents(refetchAfter);
  const live = useFeedState().status === "live";
  const wasLive = useRef(false);
  useEffect(() => {
    if (!live) return;
    if (wasLive.current) return refetchFailed();
    wasLive.current = true;
    // The stream begins with the next event, so the reads that began before it may lack one.
    queryClient.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== keys.whoami[0] });
  }, [live]);
}
