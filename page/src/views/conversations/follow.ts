/** Reads the newest rows of a conversation and follows its trace. */
import { startTransition } from "react";
import { get } from "../../api/client";
import { keys, queryClient } from "../../api/queries";
import type { Message, Messages, TraceEvent } from "../../api/types";
import { subscribe } from "../../live/client";
import { backoffMs } from "../../live/stream";
import { isRefusal } from "../../shell/reach";

/** The number of rows that one request reads. */
export const PAGE = 200;

export type FollowAction =
  | { kind: "loaded"; rows: Message[]; hasOlder: boolean }
  | { kind: "events"; events: TraceEvent[] };

interface Follower {
  dispatch(action: FollowAction): void;
  /** Called after the rows are dispatched. */
  onLoad(): void;
  onError(error: unknown): void;
}

/**
 * Dispatches the rows of a session, and the events of its trace after `after`, until the returned function is called.
 * Reads again after an error that another attempt can mend, and after a gap in the trace.
 */
export function followConversation(id: string, after: string, follower: Follower): () => void {
  let stopped = false;
  // Many pieces of text come between two frames: apply them together.
  let gathered: TraceEvent[] = [];
  let frame = 0;
  // The events since a request for the rows began. They are applied to its result again, because the rows may be
  // older than the events. To apply an event twice changes nothing.
  let sinceRequest: TraceEvent[] | null = null;
  // Only the response to the last request counts: events are lost before a `resync`, so that older rows lack them.
  let requests = 0;
  let retry: ReturnType<typeof setTimeout> | undefined;
  const load = (attempt = 0) => {
    clearTimeout(retry);
    requests += 1;
    const own = requests;
    sinceRequest = [];
    const isSuperseded = () => stopped || own !== requests;
    // A bookmark may name the session by its key, so use the ID everywhere.
    get<Messages>(`/sessions/${id}/messages`, { last: PAGE })
      .then((page) => {
        if (isSuperseded()) return;
        follower.dispatch({ kind: "loaded", rows: page.items, hasOlder: (page.before ?? 0) > 0 });
        if (sinceRequest !== null) follower.dispatch({ kind: "events", events: sinceRequest });
        sinceRequest = null;
        follower.onLoad();
      })
      .catch((error) => {
        if (isSuperseded()) return;
        follower.onError(error);
        if (!isRefusal(error)) retry = setTimeout(() => load(attempt + 1), backoffMs(attempt));
      });
  };
  const apply = () => {
    frame = 0;
    const events = gathered;
    gathered = [];
    // A key or a click is handled and painted first, because to draw a long live text takes longer than a frame.
    startTransition(() => follower.dispatch({ kind: "events", events }));
  };
  const end = subscribe(id, after, (event) => {
    gathered.push(event);
    if (event.kind === "resync") {
      // At once, because it must not be applied after events that follow it.
      apply();
      load();
      // A read from before the gap is not waited for, because it can hang on a lost connection.
      queryClient.restartQueries({ queryKey: keys.session(id) });
      return;
    }
    sinceRequest?.push(event);
    // A hidden tab gets no frames.
    if (frame === 0) frame = document.hidden ? window.setTimeout(apply, 200) : requestAnimationFrame(apply);
  });
  load();
  return () => {
    stopped = true;
    end();
    clearTimeout(retry);
    cancelAnimationFrame(frame);
    clearTimeout(frame);
  };
}
