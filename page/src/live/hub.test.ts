import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Hub } from "./hub";
import { type FromWorker, TENANT } from "./protocol";

const requests: {
  path: string;
  signal: AbortSignal;
  connection: ReadableStreamDefaultController<Uint8Array>;
}[] = [];
let isDown: boolean;
const settle = () => vi.advanceTimersByTimeAsync(0);

beforeEach(() => {
  vi.useFakeTimers();
  requests.length = 0;
  isDown = false;
  vi.stubGlobal("fetch", (path: string, init: RequestInit) => {
    if (isDown) return Promise.reject(new TypeError("Failed to fetch"));
    const body = new ReadableStream<Uint8Array>({
      start: (connection) => {
        requests.push({ path, signal: init.signal as AbortSignal, connection });
      },
    });
    return Promise.resolve(new Response(body, { status: 200 }));
  });
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

function tab(): { received: FromWorker[]; send: (message: FromWorker) => void } {
  const received: FromWorker[] = [];
  return { received, send: (message) => received.push(message) };
}

describe("Hub", () => {
  it("ten_tabs_share_one_connection", async () => {
    const hub = new Hub();
    const tabs = Array.from({ length: 10 }, tab);
    for (const each of tabs) hub.handle(each, { kind: "subscribe", feed: TENANT, after: null });
    await settle();
    requests[0]?.connection.enqueue(new TextEncoder().encode('id: 1\ndata: {"kind":"run","seq":1}\n\n'));
    await settle();
    expect(requests.map((each) => each.path)).toEqual(["/api/v1/trace"]);
    for (const each of tabs) expect(each.received.filter((one) => one.kind === "event")).toHaveLength(1);
  });

  it("session_has_a_stream_of_its_own", async () => {
    const hub = new Hub();
    hub.handle(tab(), { kind: "subscribe", feed: "s/1", after: "3" });
    await settle();
    expect(requests.map((each) => each.path)).toEqual(["/api/v1/sessions/s%2F1/trace"]);
  });

  it("reload_keeps_the_connection", async () => {
    const hub = new Hub();
    const before = tab();
    hub.handle(before, { kind: "subscribe", feed: TENANT, after: null });
    await settle();
    hub.handle(before, { kind: "close" });
    hub.handle(tab(), { kind: "subscribe", feed: TENANT, after: null });
    await vi.advanceTimersByTimeAsync(10_000);
    expect(requests).toHaveLength(1);
    expect(requests[0]?.signal.aborted).toBe(false);
  });

  it("connection_without_a_reader_is_closed", async () => {
    const hub = new Hub();
    const only = tab();
    hub.handle(only, { kind: "subscribe", feed: TENANT, after: null });
    await settle();
    hub.handle(only, { kind: "unsubscribe", feed: TENANT });
    await vi.advanceTimersByTimeAsync(10_000);
    expect(requests[0]?.signal.aborted).toBe(true);
    hub.handle(tab(), { kind: "subscribe", feed: TENANT, after: null });
    await settle();
    expect(requests).toHaveLength(2);
  });

  it("later_tab_learns_the_state_at_once", async () => {
    const hub = new Hub();
    hub.handle(tab(), { kind: "subscribe", feed: TENANT, after: null });
    await settle();
    const later = tab();
    hub.handle(later, { kind: "subscribe", feed: TENANT, after: null });
    expect(later.received).toMatchObject([{ kind: "state", state: { status: "live" } }]);
  });

  it("answer_to_a_request_of_a_tab_shortens_the_wait", async () => {
    const hub = new Hub();
    const only = tab();
    isDown = true;
    hub.handle(only, { kind: "subscribe", feed: TENANT, after: null });
    // Until the next attempt is far away.
    await vi.advanceTimersByTimeAsync(60_000);
    isDown = false;
    await vi.advanceTimersByTimeAsync(1_000);
    hub.handle(only, { kind: "reached" });
    await settle();
    expect(only.received.at(-1)).toMatchObject({ kind: "state", state: { status: "live" } });
  });
});
