/** The messages between the tabs and the worker that holds the live streams of the browser. */
import type { TraceEvent } from "../api/types";

/** `tenant`, or the ID of a session. */
export type Feed = string;
export const TENANT: Feed = "tenant";

export interface FeedState {
  status: "connecting" | "live" | "lost" | "signed-out" | "forbidden" | "ended";
  /** The instant at which the worker last read something, heartbeats included, in milliseconds since 1970. */
  heardAt: number | null;
}

export type ToWorker =
  | { kind: "subscribe"; feed: Feed; after: string | null }
  | { kind: "unsubscribe"; feed: Feed }
  /** Connects at once, because a person asked or signed in. */
  | { kind: "connect" }
  /** The server has answered a request of the tab. */
  | { kind: "reached" }
  | { kind: "close" };

export type FromWorker =
  | { kind: "event"; feed: Feed; id: string | null; event: TraceEvent }
  | { kind: "state"; feed: Feed; state: FeedState }
  /** Events may be missing that the stream cannot send again, so that all data must be read again. */
  | { kind: "gap"; feed: Feed };
