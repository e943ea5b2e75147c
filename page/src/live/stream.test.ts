import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { FeedState } from "./protocol";
import { backoffMs, EventStream, SILENCE_LIMIT_MS } from "./stream";

/** A server whose connections the test controls. */
class FakeServer {
  readonly requests: { lastEventId: string | null; signal: AbortSignal }[] = [];
  readonly connections: ReadableStreamDefaultController<Uint8Array>[] = [];
  status = 200;
  hangs = false;

  fetch = (_path: string, init: RequestInit): Promise<Response> => {
    const signal = init.signal as AbortSignal;
    this.requests.push({ lastEventId: new Headers(init.headers).get("Last-Event-ID"), signal });
    if (this.hangs) return new Promise(() => undefined);
    if (this.status === 0) return Promise.reject(new TypeError("connection refused"));
    if (this.status !== 200) return Promise.resolve(new Response("{}", { status: this.status }));
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.connections.push(controller);
      },
    });
    return Promise.resolve(new Response(body, { status: 200 }));
  };

  get last(): ReadableStreamDefaultController<Uint8Array> {
    const last = this.connections.at(-1);
    if (last === undefined) throw new Error("no connection");
    return last;
  }

  send(text: string): void {
    this.last.enqueue(new TextEncoder().encode(text));
  }
}

const settle = () => vi.advanceTimersByTimeAsync(0);
const event = (id: number) => `event: run\nid: ${id}\ndata: {"kind":"run","seq":${id}}\n\n`;

let server: FakeServer;
let states: FeedState["status"][];
let events: { id: string | null; kind: string }[];
let gaps: number;

function open(after: string | null): EventStream {
  const stream = new EventStream("/api/v1/trace", after, {
    onEvent: (id, received) => events.push({ id, kind: received.kind }),
    onState: (state) => states.push(state.status),
    onGap: () => {
      gaps += 1;
    },
  });
  stream.connect();
  return stream;
}

beforeEach(() => {
  vi.useFakeTimers();
  server = new FakeServer();
  states = [];
  events = [];
  gaps = 0;
  vi.stubGlobal("fetch", server.fetch);
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe("EventStream", () => {
  it("event_in_pieces_is_delivered_once", async () => {
    const stream = open(null);
    await settle();
    server.send("event: run\nid: 4\nda");
    await settle();
    expect(events).toEqual([]);
    server.send('ta: {"kind":"run","seq":4}\n\n');
    await settle();
    expect(events).toEqual([{ id: "4", kind: "run" }]);
    expect(stream.lastEventId).toBe("4");
    stream.close();
  });

  it("letter_that_is_split_between_chunks_stays_whole", async () => {
    const seen: string[] = [];
    const stream = new EventStream("/x", null, {
      onEvent: (_, received) => seen.push((received as { text: string }).text),
      onState: () => undefined,
      onGap: () => undefined,
    });
    stream.connect();
    await settle();
    const bytes = new TextEncoder().encode('data: {"kind":"delta","text":"Příliš 🌅"}\n\n');
    for (const byte of bytes) server.last.enqueue(Uint8Array.of(byte));
    await settle();
    expect(seen).toEqual(["Příliš 🌅"]);
    stream.close();
  });

  it("stream_without_heartbeats_counts_as_lost_and_resumes_after_the_last_event", async () => {
    const stream = open(null);
    await settle();
    server.send(event(7));
    await settle();
    await vi.advanceTimersByTimeAsync(SILENCE_LIMIT_MS - 1);
    expect(states.at(-1)).toBe("live");
    await vi.advanceTimersByTimeAsync(1);
    expect(states).toContain("lost");
    expect(server.requests.at(-1)?.lastEventId).toBe("7");
    expect(server.requests[0]?.signal.aborted).toBe(true);
    stream.close();
  });

  it("heartbeat_keeps_a_silent_stream_live", async () => {
    const stream = open(null);
    await settle();
    for (let beats = 0; beats < 10; beats += 1) {
      await vi.advanceTimersByTimeAsync(15_000);
      server.send(": heartbeat\n\n");
      await settle();
    }
    expect(states).not.toContain("lost");
    expect(server.requests).toHaveLength(1);
    stream.close();
  });

  it("connection_that_gets_no_answer_is_given_up", async () => {
    server.hangs = true;
    const stream = open("3");
    await vi.advanceTimersByTimeAsync(SILENCE_LIMIT_MS);
    expect(server.requests).toHaveLength(2);
    expect(states).toContain("lost");
    stream.close();
  });

  it("restart_of_the_server_resumes_after_the_last_event", async () => {
    const stream = open("1");
    await settle();
    server.send(event(2));
    await settle();
    server.status = 0;
    server.last.error(new TypeError("network error"));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(states.at(-1)).toBe("lost");
    const failed = server.requests.length;
    expect(failed).toBeGreaterThan(3);
    server.status = 200;
    await vi.advanceTimersByTimeAsync(15_000);
    expect(states.at(-1)).toBe("live");
    expect(server.requests.at(-1)?.lastEventId).toBe("2");
    expect(gaps).toBe(0);
    stream.close();
  });

  it("break_before_the_first_event_is_reported_as_a_gap", async () => {
    const stream = open(null);
    await settle();
    server.last.error(new TypeError("network error"));
    await vi.advanceTimersByTimeAsync(15_000);
    expect(server.requests.at(-1)?.lastEventId).toBeNull();
    expect(gaps).toBe(1);
    stream.close();
  });

  it("planned_end_connects_again_without_a_loss", async () => {
    const stream = open(null);
    await settle();
    await vi.advanceTimersByTimeAsync(15_000);
    server.send(event(9));
    await settle();
    server.last.close();
    await vi.advanceTimersByTimeAsync(300);
    expect(states).not.toContain("lost");
    expect(server.requests).toHaveLength(2);
    expect(server.requests[1]?.lastEventId).toBe("9");
    stream.close();
  });

  it("server_that_ends_each_connection_at_once_is_not_flooded", async () => {
    const stream = open("1");
    for (let second = 0; second < 60; second += 1) {
      await settle();
      const last = server.connections.at(-1);
      try {
        last?.close();
      } catch {
        // The connection is closed already.
      }
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect(server.requests.length).toBeLessThan(15);
    stream.close();
  });

  it.each([
    [401, "signed-out"],
    [403, "forbidden"],
    [404, "ended"],
  ] as const)("status_%i_stops_the_stream_as_%s", async (status, state) => {
    server.status = status;
    const stream = open(null);
    await vi.advanceTimersByTimeAsync(120_000);
    expect(states.at(-1)).toBe(state);
    expect(server.requests).toHaveLength(1);
    stream.close();
  });

  it("wake_after_signing_in_connects_at_once", async () => {
    server.status = 401;
    const stream = open("5");
    await settle();
    server.status = 200;
    stream.wake();
    await settle();
    expect(states.at(-1)).toBe("live");
    expect(server.requests.at(-1)?.lastEventId).toBe("5");
    stream.close();
  });

  it("answer_to_another_request_shortens_the_wait_for_a_lost_server", async () => {
    server.status = 0;
    const stream = open("5");
    await vi.advanceTimersByTimeAsync(60_000);
    const failed = server.requests.length;
    server.status = 200;
    // The attempt before may have been a moment ago.
    await vi.advanceTimersByTimeAsync(1_000);
    stream.hurry();
    await settle();
    expect(states.at(-1)).toBe("live");
    expect(server.requests).toHaveLength(failed + 1);
    stream.close();
  });

  it("answers_to_other_requests_do_not_flood_a_stream_that_fails", async () => {
    server.status = 500;
    const refused = open("5");
    for (let tenths = 0; tenths < 600; tenths += 1) {
      await vi.advanceTimersByTimeAsync(100);
      refused.hurry();
    }
    // At most two attempts a wait, and the wait grows to 15 seconds.
    expect(server.requests.length).toBeLessThan(25);
    refused.close();
  });

  it("answers_to_other_requests_do_not_hurry_a_stream_that_is_ended_at_once", async () => {
    const stream = open("5");
    const end = async () => {
      await settle();
      server.last.close();
      await settle();
    };
    await end();
    await vi.advanceTimersByTimeAsync(500);
    await end();
    await vi.advanceTimersByTimeAsync(1_000);
    await end();
    const before = server.requests.length;
    stream.hurry();
    await settle();
    expect(server.requests).toHaveLength(before);
    stream.close();
  });

  it("deleted_session_ends_its_stream", async () => {
    const stream = open("5");
    await settle();
    server.send('event: session_deleted\ndata: {"kind":"session_deleted","session_id":"s"}\n\n');
    await vi.advanceTimersByTimeAsync(120_000);
    expect(states.at(-1)).toBe("ended");
    expect(server.requests).toHaveLength(1);
    stream.close();
  });

  it("closed_stream_does_not_connect_again", async () => {
    const stream = open(null);
    await settle();
    stream.close();
    await vi.advanceTimersByTimeAsync(120_000);
    expect(server.requests).toHaveLength(1);
  });
});

describe("backoffMs", () => {
  it("wait_doubles_up_to_the_limit", () => {
    const waits = [0, 1, 2, 3, 4, 5, 6, 40].map((attempt) => backoffMs(attempt, () => 1));
    expect(waits).toEqual([500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000]);
  });

  it("jitter_takes_at_most_half", () => {
    expect(backoffMs(2, () => 0)).toBe(1_000);
  });
});
