import { QueryObserver } from "@tanstack/react-query";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { keys, queryClient } from "../../api/queries";
import type { Message, TraceEvent } from "../../api/types";
import { type FollowAction, followConversation } from "./follow";
import { applyEvent, EMPTY, setRows, type Transcript } from "./transcript";

let send: (event: TraceEvent) => void = () => {};

vi.mock("../../live/client", () => ({
  connectSooner: () => {},
  subscribe: (_feed: string, _after: string, listener: typeof send) => {
    send = listener;
    return () => {};
  },
}));

/** The reads of rows that the test has not answered yet. */
let requests: { answer(seqs: number[]): void }[] = [];
let transcript: Transcript = EMPTY;
let stop = () => {};

const row = (seq: number) => ({ id: `msg_${seq}`, seq, role: "user", kind: "message" }) as Message;
const written = (seq: number) =>
  ({ kind: "message", message_id: `msg_${seq}`, message: row(seq) }) as unknown as TraceEvent;
const resync = { kind: "resync", runs: [] } as unknown as TraceEvent;
const seqs = () => transcript.rows.map((each) => each.seq);
/** Waits until nothing happens without another answer or event. */
const settled = () => new Promise((done) => setTimeout(done));

function dispatch(action: FollowAction): void {
  transcript =
    action.kind === "loaded"
      ? setRows(transcript, action.rows, action.hasOlder)
      : action.events.reduce(applyEvent, transcript);
}

beforeEach(() => {
  requests = [];
  transcript = EMPTY;
  vi.stubGlobal("document", { hidden: false });
  vi.stubGlobal("requestAnimationFrame", (apply: () => void) => setTimeout(apply));
  vi.stubGlobal("cancelAnimationFrame", () => {});
  vi.stubGlobal("fetch", () => {
    return new Promise((done) => {
      // The body of a real response comes from a stream, after an unknown number of tasks.
      const answer = (present: number[]) =>
        done({
          ok: true,
          headers: new Headers(),
          text: async () => JSON.stringify({ items: present.map(row), before: null }),
        });
      requests.push({ answer });
    });
  });
  stop = followConversation("ses_1", "0", { dispatch, onLoad: () => {}, onError: () => {} });
});

afterEach(() => {
  stop();
  queryClient.clear();
  vi.unstubAllGlobals();
});

test("gap_during_a_read_of_the_rows_reads_at_once_and_loses_no_event", async () => {
  send(written(1));
  // The event of row 2 is lost.
  send(resync);
  expect(requests).toHaveLength(2);
  send(written(3));
  requests[1]?.answer([1, 2]);
  await settled();
  expect(seqs()).toEqual([1, 2, 3]);
  requests[0]?.answer([]);
  await settled();
  expect(seqs()).toEqual([1, 2, 3]);
});

test("gap_waits_for_no_read_of_the_session_from_before_it", async () => {
  const signals: AbortSignal[] = [];
  const observer = new QueryObserver(queryClient, {
    queryKey: [...keys.session("ses_1"), "runs", 1],
    queryFn: ({ signal }) => {
      signals.push(signal);
      return new Promise<never>(() => {});
    },
  });
  const end = observer.subscribe(() => {});
  await settled();
  expect(signals).toHaveLength(1);
  send(resync);
  await settled();
  expect(signals.map((signal) => signal.aborted)).toEqual([true, false]);
  end();
});
