/** The tab's side of the live streams. */
import { useEffect, useState, useSyncExternalStore } from "react";
import { queryClient } from "../api/queries";
import type { TraceEvent } from "../api/types";
import { Hub, type Subscriber } from "./hub";
import { type Feed, type FeedState, type FromWorker, TENANT, type ToWorker } from "./protocol";

type EventListener = (event: TraceEvent, id: string | null) => void;

const listeners = new Map<Feed, Set<EventListener>>();
const states = new Map<Feed, FeedState>();
const stateListeners = new Set<() => void>();
/** The feeds that this tab reads, with the place where each began, so that a new leader can subscribe again. */
const wanted = new Map<Feed, string | null>();
let post: ((message: ToWorker) => void) | null = null;
const INITIAL: FeedState = { status: "connecting", heardAt: null };

function receive(message: FromWorker): void {
  if (message.kind === "event") {
    if (message.id !== null && wanted.has(message.feed)) wanted.set(message.feed, message.id);
    for (const listener of listeners.get(message.feed) ?? []) listener(message.event, message.id);
    return;
  }
  if (message.kind === "gap") {
    queryClient.restartQueries();
    return;
  }
  states.set(message.feed, message.state);
  for (const listener of stateListeners) listener();
}

function start(): (message: ToWorker) => void {
  if (typeof SharedWorker !== "undefined") {
    const worker = new SharedWorker(new URL("./worker.ts", import.meta.url), {
      type: "module",
      name: "live",
    });
    worker.port.onmessage = (event: MessageEvent<FromWorker>) => receive(event.data);
    const tell = (message: ToWorker | { lock: string }) => worker.port.postMessage(message);
    // The lock ends with the tab, also if the tab crashes. `pagehide` serves where locks are missing.
    const lock = `matins-tab-${Math.random()}`;
    navigator.locks?.request(lock, () => {
      tell({ lock });
      return new Promise(() => undefined);
    });
    addEventListener("pagehide", () => tell({ kind: "close" }));
    addEventListener("pageshow", (event) => {
      if (event.persisted) for (const [feed, after] of wanted) tell({ kind: "subscribe", feed, after });
    });
    return tell;
  }
  return startWithLeader();
}

/** Without SharedWorker one tab leads: it holds the streams and broadcasts their events to the others. */
function startWithLeader(): (message: ToWorker) => void {
  const name = "matins-live";
  const me = Math.random().toString(36).slice(2);
  const channel = new BroadcastChannel(name);
  let hub: Hub | null = null;
  const remote = new Map<string, Subscriber>();
  const local: Subscriber = { send: receive };
  type Packet = { from?: string; to?: string; message?: ToWorker | FromWorker; leader?: true };
  channel.onmessage = (event: MessageEvent<Packet>) => {
    const { from, to, message, leader } = event.data;
    if (leader) {
      for (const [feed, after] of wanted) send({ kind: "subscribe", feed, after });
    } else if (to === me && message) {
      receive(message as FromWorker);
    } else if (hub && from && message) {
      const subscriber = remote.get(from) ?? {
        send: (answer: FromWorker) => channel.postMessage({ to: from, message: answer }),
      };
      remote.set(from, subscriber);
      hub.handle(subscriber, message as ToWorker);
    }
  };
  const send = (message: ToWorker) => {
    if (hub) hub.handle(local, message);
    else channel.postMessage({ from: me, message });
  };
  const lead = () => {
    hub = new Hub();
    for (const [feed, after] of wanted) hub.handle(local, { kind: "subscribe", feed, after });
    channel.postMessage({ leader: true });
    return new Promise(() => undefined);
  };
  if (navigator.locks) navigator.locks.request(name, lead);
  else lead();
  addEventListener("pagehide", () => send({ kind: "close" }));
  return send;
}

function tell(message: ToWorker): void {
  post ??= start();
  post(message);
}

/** Reads a feed until the returned function is called. `after` is the ID of the last event that is known already. */
export function subscribe(feed: Feed, after: string | null, listener: EventListener): () => void {
  const present = listeners.get(feed) ?? new Set();
  listeners.set(feed, present);
  present.add(listener);
  if (present.size === 1) {
    wanted.set(feed, after);
    tell({ kind: "subscribe", feed, after });
  }
  return () => {
    present.delete(listener);
    if (present.size > 0) return;
    listeners.delete(feed);
    wanted.delete(feed);
    states.delete(feed);
    tell({ kind: "unsubscribe", feed });
  };
}

/** Connects all feeds that are not live. */
export function reconnect(): void {
  tell({ kind: "connect" });
}

/** Connects feeds sooner that wait after a failed attempt, because the server has answered a request. */
export function connectSooner(): void {
  if ([...states.values()].some(({ status }) => status === "lost")) tell({ kind: "reached" });
}

function subscribeToStates(listener: () => void): () => void {
  stateListeners.add(listener);
  return () => stateListeners.delete(listener);
}

/** Returns the state of a feed's connection. */
export function useFeedState(feed: Feed = TENANT): FeedState {
  return useSyncExternalStore(subscribeToStates, () => states.get(feed) ?? INITIAL);
}

/** A page waits no longer for its feed: it reads once more when the feed is there. */
const PATIENCE_MS = 1_000;

/** Returns `true` once the tenant's feed has answered, because what is read then misses no event; or after a while. */
export function useFeedHasAnswered(): boolean {
  const connecting = useFeedState().status === "connecting";
  const [answered, setAnswered] = useState(false);
  useEffect(() => {
    if (!connecting) setAnswered(true);
    const timer = setTimeout(() => setAnswered(true), PATIENCE_MS);
    return () => clearTimeout(timer);
  }, [connecting]);
  return answered;
}

/** Calls `listener`, which must be stable, with every event of the tenant while the component is shown. */
export function useTenantEvents(listener: EventListener): void {
  useEffect(() => subscribe(TENANT, null, listener), [listener]);
}
