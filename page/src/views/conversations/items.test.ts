import { describe, expect, test } from "vitest";
import type { Message, Run } from "../../api/types";
import { isFromPerson, itemsOf, keepEqual, namesOfSeats } from "./items";
import { EMPTY } from "./transcript";

let seq = 0;
function row(run: string, kind: Message["kind"], role: Message["role"], metadata: unknown = {}): Message {
  seq += 1;
  const created_at = "2026-11-25T09:00:00Z";
  return {
    id: `msg_${seq}`,
    seq,
    run_id: run,
    kind,
    role,
    content: `${kind} ${seq}`,
    created_at,
    metadata,
  } as Message;
}

const run = (id: string, status: Run["status"]): Run =>
  ({ id, status, ended_at: "2026-11-25T09:01:00Z", started_at: "2026-11-25T09:00:00Z", usage: null }) as Run;
const kinds = (rows: Message[], runs: Run[] = [], live = new Map<string, { text: string; end: number }>()) =>
  itemsOf({ ...EMPTY, rows, live }, new Map(runs.map((each) => [each.id, each])), "UTC").map(
    (item) => item.kind,
  );

describe("itemsOf", () => {
  test("consecutive thoughts, tools and plans are one line, with edits and failures below", () => {
    const diff = [{ type: "diff", path: "a.md", oldText: "a", newText: "b" }];
    const rows = [
      row("run_1", "message", "user"),
      row("run_1", "plan", "assistant", { entries: [] }),
      row("run_1", "thought", "assistant"),
      row("run_1", "tool_call", "tool", { status: "completed" }),
      row("run_1", "tool_call", "tool", { status: "completed", output: diff }),
      row("run_1", "tool_call", "tool", { status: "failed", tool_call_id: "x" }),
      row("run_1", "permission", "system", { decision: "denied", tool_call_id: "x" }),
      row("run_1", "message", "assistant"),
    ];
    expect(kinds(rows, [run("run_1", "succeeded")])).toEqual([
      "day",
      "person",
      "work",
      "diff",
      "failed-tool",
      "answer",
      "end",
    ]);
    const items = itemsOf({ ...EMPTY, rows }, new Map(), "UTC");
    expect(items.find((item) => item.kind === "failed-tool")).toMatchObject({ denied: true });
  });

  test("an automation's prompt is an event with its name", () => {
    const rows = [row("run_2", "message", "user", { automation_name: "tidy" })];
    expect(kinds(rows, [run("run_2", "running")])).toEqual(["day", "trigger", "working"]);
  });

  test("the prompt of a task is of Matins, and the answer of a seat has its name", () => {
    const prompt = row("run_9", "message", "user", { _to_name: "worker-1", _task_key: "tone" });
    const message = row("run_10", "message", "user");
    const said = { ...row("run_9", "message", "assistant"), seat_id: "seat_2" };
    const seats = [
      { id: "seat_1", name: "planner" },
      { id: "seat_2", name: "worker-1" },
    ];
    const of = (names: ReadonlyMap<string, string>) =>
      itemsOf({ ...EMPTY, rows: [prompt, said, message] }, new Map(), "UTC", names);
    const items = of(namesOfSeats(seats));
    expect(items.map((item) => item.kind)).toEqual(["day", "task", "answer", "person"]);
    expect(items[1]).toMatchObject({ seat: "worker-1", task: "tone" });
    expect(items[2]).toMatchObject({ seat: "worker-1", text: said.content });
    expect([prompt, said, message].filter(isFromPerson)).toEqual([message]);
    // The agent of a session with one seat has no name.
    expect(of(namesOfSeats(seats.slice(1)))[2]).not.toHaveProperty("seat");
  });

  test("the message of a person names its seat, unless the session has only one", () => {
    const apart = {
      ...row("", "message", "user", { _from_person: "Anna", _to_name: "worker-2" }),
      run_id: null,
    };
    const queued = row("run_11", "message", "user");
    const others = row("run_12", "message", "user");
    const runs = new Map([["run_11", { ...run("run_11", "succeeded"), seat_id: "seat_2" }]]);
    const seats = [
      { id: "seat_1", name: "planner" },
      { id: "seat_2", name: "worker-1" },
      { id: "seat_3", name: "worker-2" },
    ];
    const receivers = (names: ReadonlyMap<string, string>) =>
      itemsOf({ ...EMPTY, rows: [apart, queued, others] }, runs, "UTC", names).flatMap((item) =>
        item.kind === "person" ? [item.receiver] : [],
      );
    // The run of the last one is not read yet.
    expect(receivers(namesOfSeats(seats))).toEqual(["worker-2", "worker-1", undefined]);
    expect(receivers(namesOfSeats(seats.slice(0, 1)))).toEqual([undefined, undefined, undefined]);
    expect([apart, queued].filter(isFromPerson)).toEqual([apart, queued]);
  });

  test("live text has the name of the seat of its run", () => {
    const prompt = row("run_9", "message", "user", { _to_name: "worker-1", _task_key: "tone" });
    const running = { ...run("run_9", "running"), seat_id: "seat_2" };
    const live = new Map([["run_9", { text: "I think", end: 7 }]]);
    const names = new Map([["seat_2", "worker-1"]]);
    const items = itemsOf({ ...EMPTY, rows: [prompt], live }, new Map([["run_9", running]]), "UTC", names);
    expect(items.at(-1)).toMatchObject({ kind: "answer", seat: "worker-1", live: true });
  });

  test("the live text and the final row have the same key", () => {
    const question = row("run_3", "message", "user");
    const live = new Map([["run_3", { text: "Hel", end: 3 }]]);
    const during = itemsOf({ ...EMPTY, rows: [question], live }, new Map(), "UTC");
    const after = itemsOf(
      { ...EMPTY, rows: [question, row("run_3", "message", "assistant")] },
      new Map(),
      "UTC",
    );
    expect(during.at(-1)).toMatchObject({ kind: "answer", live: true, text: "Hel" });
    expect(after.at(-1)?.key).toBe(during.at(-1)?.key);
  });

  test("rows of another run between those of one do not double its live text or its end", () => {
    const rows = [
      row("run_8", "message", "user"),
      row("run_9", "message", "user"),
      row("run_8", "tool_call", "tool", { status: "completed" }),
    ];
    const live = new Map([["run_8", { text: "Hel", end: 3 }]]);
    expect(kinds(rows, [run("run_8", "running")], live)).toEqual([
      "day",
      "person",
      "person",
      "work",
      "answer",
    ]);
    const answered = [...rows, row("run_8", "message", "assistant")];
    expect(kinds(answered, [run("run_8", "succeeded")])).toEqual([
      "day",
      "person",
      "person",
      "work",
      "answer",
      "end",
    ]);
  });

  test("tools stand in the answer where the agent used them", () => {
    const at = (position: number) => ({ status: "completed", answer_position: position });
    const answer = { ...row("run_6", "message", "assistant"), content: "Žádné změny. Now I push. Done." };
    const bytes = new TextEncoder().encode("Žádné změny. ").length;
    const rows = [
      row("run_6", "message", "user"),
      row("run_6", "tool_call", "tool", at(0)),
      row("run_6", "tool_call", "tool", at(bytes)),
      row("run_6", "tool_call", "tool", at(1_000)),
      answer,
    ];
    const items = itemsOf({ ...EMPTY, rows }, new Map([["run_6", run("run_6", "succeeded")]]), "UTC");
    const texts = items.flatMap((item) => (item.kind === "answer" ? [item.text] : []));
    expect(items.map((item) => item.kind)).toEqual([
      "day",
      "person",
      "work",
      "answer",
      "work",
      "answer",
      "work",
      "end",
    ]);
    expect(texts).toEqual(["Žádné změny. ", "Now I push. Done."]);
    expect(new Set(items.map((item) => item.key)).size).toBe(items.length);
  });

  test("text that is being written is divided in the same way", () => {
    const rows = [
      row("run_7", "message", "user"),
      row("run_7", "tool_call", "tool", { status: "in_progress", answer_position: 3 }),
    ];
    const live = new Map([["run_7", { text: "Hello", end: 5 }]]);
    const items = itemsOf({ ...EMPTY, rows, live }, new Map(), "UTC");
    expect(items.map((item) => (item.kind === "answer" ? item.text : item.kind))).toEqual([
      "day",
      "person",
      "Hel",
      "work",
      "lo",
    ]);
    expect(items.filter((item) => item.kind === "answer").every((item) => item.live)).toBe(true);
  });

  test("keys are unique", () => {
    const rows = [
      row("run_4", "message", "user"),
      row("run_4", "thought", "assistant"),
      row("run_5", "message", "user"),
    ];
    const keys = itemsOf({ ...EMPTY, rows }, new Map([["run_4", run("run_4", "failed")]]), "UTC").map(
      (item) => item.key,
    );
    expect(new Set(keys).size).toBe(keys.length);
  });
});

describe("keepEqual", () => {
  const rows = [
    row("run_9", "message", "user"),
    row("run_9", "thought", "assistant"),
    row("run_9", "tool_call", "tool", { status: "completed" }),
  ];
  const at = (text: string, more: Message[] = []) =>
    itemsOf(
      { ...EMPTY, rows: [...rows, ...more], live: new Map([["run_9", { text, end: text.length }]]) },
      new Map([["run_9", run("run_9", "running")]]),
      "UTC",
    );

  test("a piece of live text replaces its own item alone", () => {
    const before = at("The");
    const after = keepEqual(before, at("The train"));
    expect(after.map((item) => before.includes(item))).toEqual([true, true, true, false]);
    expect(after.at(-1)).toMatchObject({ kind: "answer", text: "The train" });
  });

  test("a changed row replaces its item", () => {
    const before = at("The");
    const last = rows[2] as Message;
    const changed = { ...last, metadata: { status: "failed" } } as Message;
    const after = keepEqual(
      before,
      itemsOf({ ...EMPTY, rows: [...rows.slice(0, 2), changed] }, new Map(), "UTC"),
    );
    expect(before).not.toContain(after.find((item) => item.kind === "work"));
  });

  test("a further row replaces the item of its work", () => {
    const before = at("The");
    const after = keepEqual(before, at("The", [row("run_9", "thought", "assistant")]));
    const work = after.find((item) => item.kind === "work");
    expect(work).toMatchObject({ work: { thoughts: [{}, {}] } });
  });
});
