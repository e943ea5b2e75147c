import { describe, expect, test } from "vitest";
import type { Message, TraceEvent } from "../../api/types";
import { applyEvent, EMPTY, mergeDelta, mergeRows, setLiveText, setRows, withoutText } from "./transcript";

function row(seq: number, more: Partial<Message> = {}): Message {
  return {
    id: `msg_${seq}`,
    seq,
    run_id: "run_1",
    role: "assistant",
    kind: "message",
    content: `row ${seq}`,
    created_at: "2026-11-25T09:00:00Z",
    metadata: {},
    ...more,
  } as Message;
}

function written(message: Message): TraceEvent {
  return {
    kind: "message",
    seq: message.seq,
    created_at: message.created_at,
    session_id: "ses_1",
    automation_id: null,
    message_id: message.id,
    role: message.role,
    message_kind: message.kind,
    to_seat_id: null,
    message,
  } as TraceEvent;
}

const delta = (position: number, text: string): TraceEvent =>
  ({ kind: "delta", run_id: "run_1", position, text }) as TraceEvent;

describe("mergeDelta", () => {
  test("pieces in order are joined, counted in bytes", () => {
    const first = mergeDelta(undefined, 0, "é–");
    expect(first).toEqual({ text: "é–", end: 5 });
    expect(mergeDelta(first ?? undefined, 5, "x")).toEqual({ text: "é–x", end: 6 });
  });

  test("a piece that is known changes nothing, and a known beginning is skipped", () => {
    const live = { text: "né", end: 3 };
    expect(mergeDelta(live, 0, "né")).toEqual(live);
    expect(mergeDelta(live, 1, "éa")).toEqual({ text: "néa", end: 4 });
  });

  test("a piece after a gap is refused", () => {
    expect(mergeDelta({ text: "a", end: 1 }, 2, "c")).toBeNull();
    expect(mergeDelta(undefined, 7, "late")).toBeNull();
  });
});

describe("mergeRows", () => {
  test("rows are ordered by seq and replaced by their ID", () => {
    const rows = mergeRows([row(3), row(8)], [row(5), row(8, { content: "rewritten" })]);
    expect(rows.map((each) => each.content)).toEqual(["row 3", "row 5", "rewritten"]);
  });
});

describe("applyEvent", () => {
  test("the final row replaces the live text", () => {
    const live = [delta(0, "Hel"), delta(3, "lo")].reduce(applyEvent, EMPTY);
    expect(live.live.get("run_1")?.text).toBe("Hello");
    const final = applyEvent(live, written(row(9, { content: "Hello" })));
    expect(final.live.size).toBe(0);
    expect(final.rows.map((each) => each.content)).toEqual(["Hello"]);
  });

  test("a tool call leaves the live text", () => {
    const live = applyEvent(EMPTY, delta(0, "a"));
    const after = applyEvent(live, written(row(4, { kind: "tool_call", role: "tool" })));
    expect(after.live.get("run_1")?.text).toBe("a");
  });

  test("events that are applied twice change nothing", () => {
    const events = [delta(0, "a"), written(row(4, { kind: "thought" })), delta(1, "b"), written(row(6))];
    const once = events.reduce(applyEvent, EMPTY);
    expect(events.reduce(applyEvent, once)).toEqual(once);
  });

  test("a gap asks for the text, and the text fills it", () => {
    const gap = applyEvent(EMPTY, delta(5, "later"));
    expect([...gap.gaps]).toEqual(["run_1"]);
    const filled = setLiveText(gap, "run_1", "12345later", 10);
    expect(filled.gaps.size).toBe(0);
    expect(applyEvent(filled, delta(10, "!")).live.get("run_1")?.text).toBe("12345later!");
  });

  test("an older text does not replace a newer one", () => {
    const state = applyEvent(EMPTY, delta(0, "abcdef"));
    expect(setLiveText(state, "run_1", "abc", 3).live.get("run_1")?.text).toBe("abcdef");
  });

  test("a deleted row goes, and rows before the loaded ones wait for paging", () => {
    const state = { ...EMPTY, rows: [row(10), row(11)], hasOlder: true };
    expect(applyEvent(state, written(row(5))).rows).toHaveLength(2);
    const removed = { ...written(row(10)), message: null } as TraceEvent;
    expect(applyEvent(state, removed).rows.map((each) => each.seq)).toEqual([11]);
  });

  test("the end of a run removes its live text", () => {
    const state = applyEvent(EMPTY, delta(0, "a"));
    const ended = { kind: "run", run_id: "run_1", change: { status: "cancelled" } } as TraceEvent;
    expect(applyEvent(state, ended).live.size).toBe(0);
  });

  test("pieces and a text that come after the end of a run are ignored", () => {
    const live = applyEvent(EMPTY, delta(0, "Hel"));
    const answered = applyEvent(live, written(row(9, { content: "Hello" })));
    // A trace that begins anew sends the text from its beginning.
    expect(applyEvent(answered, delta(0, "Hello")).live.size).toBe(0);
    expect(applyEvent(answered, delta(3, "lo")).gaps.size).toBe(0);
    expect(setLiveText(answered, "run_1", "Hello", 5).live.size).toBe(0);
    const cancelled = { kind: "run", run_id: "run_1", change: { status: "cancelled" } } as TraceEvent;
    expect(setLiveText(applyEvent(live, cancelled), "run_1", "Hello", 5).live.size).toBe(0);
  });

  test("an answer in loaded rows replaces the live text", () => {
    const live = applyEvent(EMPTY, delta(0, "Hel"));
    const loaded = setRows(
      live,
      [row(8, { kind: "tool_call", role: "tool" }), row(9, { content: "Hello" })],
      false,
    );
    expect(loaded.live.size).toBe(0);
    expect(applyEvent(loaded, delta(3, "lo")).gaps.size).toBe(0);
    const running = setRows(live, [row(8, { kind: "tool_call", role: "tool" })], false);
    expect(running.live.get("run_1")?.text).toBe("Hel");
  });

  test("each running turn lacks its text until the trace or the server brings it", () => {
    const runs = [
      { id: "run_1", status: "running" as const },
      { id: "run_2", status: "running" as const },
      { id: "run_3", status: "queued" as const },
    ];
    expect(withoutText(EMPTY, runs)).toEqual(["run_1", "run_2"]);
    const begun = applyEvent(EMPTY, delta(0, "Hel"));
    expect(withoutText(begun, runs)).toEqual(["run_2"]);
    expect(withoutText(setLiveText(begun, "run_2", "b", 1), runs)).toEqual([]);
    expect(withoutText(applyEvent(begun, delta(9, "lo")), runs)).toEqual(["run_1", "run_2"]);
    const answered = applyEvent(begun, written(row(9, { content: "Hello" })));
    expect(withoutText(answered, runs)).toEqual(["run_2"]);
  });

  test("a snapshot ends the runs that are open no longer", () => {
    const other = { kind: "delta", run_id: "run_2", position: 0, text: "b" } as TraceEvent;
    const state = [delta(0, "a"), other].reduce(applyEvent, EMPTY);
    const snapshot = { kind: "resync", runs: [{ id: "run_2" }] } as TraceEvent;
    expect([...applyEvent(state, snapshot).live.keys()]).toEqual(["run_2"]);
  });
});
