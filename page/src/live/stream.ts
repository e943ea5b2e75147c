/** Reads one stream of Server-Sent Events and connects again after each end. */
import { createParser } from "eventsource-parser";
import type { TraceEvent } from "../api/types";
import type { FeedState } from "./protocol";

/** The server sends a comment at least every 15 seconds, so a longer silence shows a dead connection. */
export const SILENCE_LIMIT_MS = 40_000;
/** A connection that ended sooner counts as a failure, so that a server that ends each at once is not flooded. */
const SHORTEST_CONNECTION_MS = 1_000;
const FIRST_BACKOFF_MS = 500;
const MAX_BACKOFF_MS = 15_000;
/** Attempts are no closer than this, also while the server answers other requests. */
const MIN_ATTEMPT_INTERVAL_MS = 1_000;

/** Returns the wait before an attempt: it doubles, and half of it is random, so that tabs do not come together. */
export function backoffMs(attempt: number, random: () => number = Math.random): number {
  const full = Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** Math.min(attempt, 10));
  return full / 2 + (full / 2) * random();
}

export interface StreamHandlers {
  onEvent(id: string | null, event: TraceEvent): void;
  onState(state: FeedState): void;
  /** The stream was interrupted before its first event, so that it cannot tell which events were missed. */
  onGap(): void;
}

export class EventStream {
  private readonly path: string;
  private readonly handlers: StreamHandlers;
  private lastId: string | null;
  private state: FeedState = { status: "connecting", heardAt: null };
  private abort: AbortController | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private silence: ReturnType<typeof setTimeout> | undefined;
  private attempt = 0;
  private attemptedAt = 0;
  /** `true` while the stream waits after an attempt that did not connect, unless `hurry` made that attempt. */
  private mayHurry = false;
  private isHurried = false;
  private connectedBefore = false;
  private closed = false;

  constructor(path: string, after: string | null, handlers: StreamHandlers) {
    this.path = path;
    this.lastId = after;
    this.handlers = handlers;
  }

  get current(): FeedState {
    return this.state;
  }

  get lastEventId(): string | null {
    return this.lastId;
  }

  /** Connects now, and drops the present connection or wait. */
  connect(): void {
    if (this.closed) return;
    clearTimeout(this.timer);
    this.abort?.abort();
    const abort = new AbortController();
    this.abort = abort;
    this.attemptedAt = Date.now();
    this.mayHurry = false;
    this.isHurried = false;
    // A server that takes the connection and then says nothing must not hold the stream for ever.
    this.watchSilence();
    this.read(abort).catch(() => this.retry(abort));
  }

  /** Connects now unless the stream is live. */
  wake(): void {
    if (this.state.status !== "live" && this.state.status !== "ended") this.connect();
  }

  /**
   * Connects now if the last attempt did not connect. If this attempt fails as well, the next one has to wait, because
   * the server may answer all but this stream. A connection that the server ended has to wait, because each one may make
   * the tabs read everything again.
   */
  hurry(): void {
    if (!this.mayHurry || Date.now() - this.attemptedAt < MIN_ATTEMPT_INTERVAL_MS) return;
    this.connect();
    this.isHurried = true;
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
    clearTimeout(this.silence);
    this.abort?.abort();
  }

  private set(status: FeedState["status"]): void {
    this.state = { status, heardAt: this.state.heardAt };
    this.handlers.onState(this.state);
  }

  private heard(): void {
    this.state = { status: "live", heardAt: Date.now() };
    this.handlers.onState(this.state);
    this.watchSilence();
  }

  private watchSilence(): void {
    clearTimeout(this.silence);
    this.silence = setTimeout(() => {
      this.set("lost");
      this.connect();
    }, SILENCE_LIMIT_MS);
  }

  private retry(abort: AbortController): void {
    if (this.closed || abort.signal.aborted) return;
    clearTimeout(this.silence);
    this.mayHurry = this.state.status !== "live" && !this.isHurried;
    this.set("lost");
    this.timer = setTimeout(() => this.connect(), backoffMs(this.attempt));
    this.attempt += 1;
  }

  private async read(abort: AbortController): Promise<void> {
    const headers: Record<string, string> = { Accept: "text/event-stream" };
    if (this.lastId !== null) headers["Last-Event-ID"] = this.lastId;
    const response = await fetch(this.path, {
      headers,
      signal: abort.signal,
      cache: "no-store",
      credentials: "same-origin",
    });
    if (response.status === 401 || response.status === 403 || response.status === 404) {
      clearTimeout(this.silence);
      this.set(response.status === 401 ? "signed-out" : response.status === 403 ? "forbidden" : "ended");
      return;
    }
    if (!response.ok || response.body === null) throw new Error(`status ${response.status}`);
    this.heard();
    const connectedAt = Date.now();
    // Without the ID of an event the stream begins with the next one, and not after the last one before the break.
    if (this.connectedBefore && this.lastId === null) this.handlers.onGap();
    this.connectedBefore = true;
    const parser = createParser({
      onEvent: (event) => {
        if (event.id !== undefined) this.lastId = event.id;
        const parsed = JSON.parse(event.data) as TraceEvent;
        this.handlers.onEvent(event.id ?? null, parsed);
        if (parsed.kind === "session_deleted") {
          this.set("ended");
          this.close();
        }
      },
    });
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (this.closed || abort.signal.aborted) return;
      if (done) break;
      this.heard();
      // Only a connection that delivers something ends a series of failures.
      this.attempt = 0;
      parser.feed(value);
    }
    // The server ends a trace after some minutes. That is no failure, so connect again at once.
    if (Date.now() - connectedAt < SHORTEST_CONNECTION_MS) throw new Error("the connection ended at once");
    this.attempt = 0;
    clearTimeout(this.silence);
    this.timer = setTimeout(() => this.connect(), 50 + 200 * Math.random());
  }
}
