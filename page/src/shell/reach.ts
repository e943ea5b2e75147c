/** Whether the requests of this tab reach the server. After a failure, a probe finds out when they do again. */
import { onResponse, send } from "../api/client";
import { ApiProblem } from "../api/problem";
import { queryClient } from "../api/queries";
import { connectSooner } from "../live/client";
import { backoffMs } from "../live/stream";

let failedAt: number | null = null;
let timer: ReturnType<typeof setTimeout> | undefined;
let refetchTimer: ReturnType<typeof setTimeout> | undefined;
/** The refetches since the failures began. They grow rare, because one address may fail while the others answer. */
let refetches = 0;
let lastFailure = 0;
const listeners = new Set<() => void>();

/** Returns the instant of the first request in a row of failures, in milliseconds since 1970; null if there is none. */
export function requestsFailSince(): number | null {
  return failedAt;
}

/** Calls `listener` after each change of `requestsFailSince`. */
export function onReachChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function set(next: number | null): void {
  failedAt = next;
  for (const listener of listeners) listener();
}

const PROBE_TIMEOUT_MS = 10_000;
/** After this long without a failure, the next one begins a new series. It is longer than any wait between refetches. */
const QUIET_MS = 30_000;

/** A view may send no request for long after one that failed, so that only the probe shows the server's return. */
function probe(attempt: number): void {
  clearTimeout(timer);
  // The response arrives below as that of any other request.
  send("GET", "/whoami", { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) }).catch(() => {
    clearTimeout(timer);
    if (failedAt !== null) timer = setTimeout(() => probe(attempt + 1), backoffMs(attempt + 1));
  });
}

/** Probes at once if requests fail, because a person asked. */
export function probeNow(): void {
  if (failedAt !== null) probe(0);
}

/** `true` if the server would refuse the request again. A server that starts or stops, or a proxy, answers 5xx. */
export function isRefusal(error: unknown): boolean {
  return error instanceof ApiProblem && error.status < 500;
}

/** Reads again what could not be read. */
export function refetchFailed(): void {
  queryClient.invalidateQueries({
    predicate: ({ state }) => state.status === "error" && !isRefusal(state.error),
  });
}

function refetchFailedLater(): void {
  if (refetchTimer !== undefined) return;
  const wait = refetches === 0 ? 0 : backoffMs(refetches - 1);
  refetches += 1;
  refetchTimer = setTimeout(() => {
    refetchTimer = undefined;
    refetchFailed();
  }, wait);
}

onResponse((event) => {
  if (event === "unreachable") {
    const now = Date.now();
    if (now - lastFailure >= QUIET_MS) refetches = 0;
    lastFailure = now;
    if (failedAt !== null) return;
    set(now);
    timer = setTimeout(() => probe(0), backoffMs(0));
  } else if (event === "reached") {
    connectSooner();
    if (failedAt === null) return;
    clearTimeout(timer);
    set(null);
    refetchFailedLater();
  }
});
