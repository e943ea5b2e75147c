import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { TraceEvent } from "../api/types";
import { TENANT } from "./protocol";

/** Channels of one name hear each other at once, which real channels do a moment later. */
class FakeChannel {
  static open: FakeChannel[] = [];
  onmessage: ((event: { data: unknown }) => void) | null = null;

  constructor(readonly name: string) {
    FakeChannel.open.push(this);
  }

  postMessage(data: unknown): void {
    for (const other of [...FakeChannel.open]) {
      if (other !== this && other.name === this.name) other.onmessage?.({ data: structuredClone(data) });
    }
  }
}

/** One lock, held until the holder is told to release it. */
class FakeLocks {
  readonly queue: (() => unknown)[] = [];
  private held = false;

  request(_name: string, callback: () => unknown): void {
    this.queue.push(callback);
    this.next();
  }

  private next(): void {
    if (this.held) return;
    const callback = this.queue.shift();
    if (callback === undefined) return;
    this.held = true;
    callback();
  }

  /** The tab that holds the lock is closed. */
  release(): void {
    this.held = false;
    this.next();
  }
}

const requests: {
  path: string;
  lastEventId: string | null;
  connection: ReadableStreamDefaultController<Uint8Array>;
}[] = [];
let locks: FakeLocks;

beforeEach(() => {
  requests.length = 0;
  FakeChannel.open = [];
  locks = new FakeLocks();
  vi.stubGlobal("SharedWorker", undefined);
  vi.stubGlobal("BroadcastChannel", FakeChannel);
  vi.stubGlobal("navigator", { locks });
  vi.stubGlobal("addEventListener", () => undefined);
  vi.stubGlobal("fetch", (path: string, init: RequestInit) => {
    const lastEventId = new Headers(init.headers).get("Last-Event-ID");
    const body = new ReadableStream<Uint8Array>({
      start: (connection) => {
        requests.push({ path, lastEventId, connection });
      },
    });
    return Promise.resolve(new Response(body, { status: 200 }));
  });
});

afterEach(() => vi.unstubAllGlobals());

/** Loads the module anew, as each tab does. */
async function openTab(): Promise<{ events: TraceEvent[]; channel: FakeChannel }> {
  vi.resetModules();
  const client = await import("./client");
  const events: TraceEvent[] = [];
  const before = FakeChannel.open.length;
  client.subscribe(TENANT, null, (event) => events.push(event));
  const channel = FakeChannel.open[before];
  if (channel === undefined) throw new Error("the tab opened no channel");
  return { events, channel };
}

const until = (check: () => void) => vi.waitFor(check, { timeout: 20_000 });

function send(request: number, seq: number): void {
  const text = `id: ${seq}\ndata: {"kind":"run","seq":${seq}}\n\n`;
  requests[request]?.connection.enqueue(new TextEncoder().encode(text));
}

const seqs = (events: TraceEvent[]) => events.map((event) => (event as { seq: number }).seq);

describe("live streams without SharedWorker", () => {
  it("one_tab_reads_and_all_hear", async () => {
    const leader = await openTab();
    const follower = await openTab();
    await until(() => expect(requests).toHaveLength(1));
    send(0, 1);
    await until(() => expect(seqs(follower.events)).toEqual([1]));
    expect(seqs(leader.events)).toEqual([1]);
  });

  it("follower_takes_over_after_the_last_event_when_the_leader_closes", async () => {
    const leader = await openTab();
    const follower = await openTab();
    await until(() => expect(requests).toHaveLength(1));
    send(0, 1);
    await until(() => expect(seqs(follower.events)).toEqual([1]));
    FakeChannel.open = FakeChannel.open.filter((each) => each !== leader.channel);
    leader.channel.onmessage = null;
    locks.release();
    await until(() => expect(requests).toHaveLength(2));
    expect(requests[1]?.lastEventId).toBe("1");
    send(1, 2);
    await until(() => expect(seqs(follower.events)).toEqual([1, 2]));
  });

  it("reads_after_a_gap_wait_for_no_read_from_before_it", async () => {
    await openTab();
    const { queryClient } = await import("../api/queries");
    const restart = vi.spyOn(queryClient, "restartQueries");
    await until(() => expect(requests).toHaveLength(1));
    expect(restart).not.toHaveBeenCalled();
    // The connection ends before its first event, so that the next one cannot tell what it missed.
    requests[0]?.connection.close();
    await until(() => expect(restart).toHaveBeenCalledOnce());
  });
});
