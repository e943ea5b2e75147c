import { describe, expect, test } from "vitest";
import type { Message } from "../../api/types";
import { dayAndTime } from "../../kit/format";
import { itemsOf } from "./items";
import { noticeOf } from "./notices";
import { EMPTY } from "./transcript";

function row(role: Message["role"], content: string, metadata: unknown): Message {
  const created_at = "2026-11-25T09:00:00Z";
  return {
    id: "msg_1",
    seq: 1,
    run_id: "run_1",
    kind: "notice",
    role,
    content,
    created_at,
    metadata,
  } as Message;
}

describe("noticeOf", () => {
  test("no agent speaks as Matins, and Matins speaks as no agent", () => {
    const facts = { notice: "agent", title: "x" };
    expect(noticeOf(row("system", "The turn failed.", facts))).toEqual({
      from: "matins",
      text: "The turn failed.",
    });
    expect(noticeOf(row("assistant", "The turn failed.", null))).toMatchObject({
      from: "agent",
      severity: "info",
      title: "The turn failed.",
    });
  });

  test("a message from one seat to another has both names, and is not of Matins", () => {
    const facts = { _from_name: "tester", _to_name: "planner" };
    expect(noticeOf(row("tool", "It is red.", facts))).toEqual({
      from: "agent",
      severity: "info",
      title: "tester to planner",
      description: "It is red.",
    });
  });

  test("the deadline of a question is in the zone of the reader, and its words stay as they are", () => {
    const content =
      "The agent asks: Deploy at 2026-11-27T11:00:00Z?\nWithout an answer until 2026-11-27T11:08:56.805696Z: no";
    const { text } = noticeOf(row("system", content, null)) as { text: string };
    expect(text).toContain("Deploy at 2026-11-27T11:00:00Z?");
    expect(text).toContain(`Without an answer until ${dayAndTime("2026-11-27T11:08:56.805696Z")}: no`);
  });

  test("a notice of the agent has a severity, a title and a description", () => {
    const facts = { notice: "agent", severity: "warning", title: "Slow", description: "Wait." };
    expect(noticeOf(row("assistant", "Slow\nWait.", facts))).toEqual({
      from: "agent",
      severity: "warning",
      title: "Slow",
      description: "Wait.",
    });
    const later = { notice: "agent", severity: "catastrophe", title: "Hm", description: null };
    expect(noticeOf(row("assistant", "Hm", later))).toMatchObject({ severity: "info", description: null });
  });

  test("a compaction runs, succeeds or fails", () => {
    const statusOf = (status: unknown) => {
      const notice = noticeOf(
        row("assistant", "text", { notice: "compaction", status, summary: "They talked." }),
      );
      return notice.from === "compaction" ? [notice.status, notice.summary] : null;
    };
    expect(statusOf("in_progress")).toEqual(["running", "They talked."]);
    expect(statusOf("completed")).toEqual(["succeeded", "They talked."]);
    expect(statusOf("failed")).toEqual(["failed", "They talked."]);
    expect(statusOf(7)).toEqual(["failed", "They talked."]);
  });

  test("it stands in the answer where the agent sent it", () => {
    const notice = row("assistant", "Slow", { notice: "agent", title: "Slow", answer_position: 3 });
    const live = new Map([["run_1", { text: "Hello", end: 5 }]]);
    const items = itemsOf({ ...EMPTY, rows: [notice], live }, new Map(), "UTC");
    expect(items.map((item) => item.kind)).toEqual(["day", "answer", "notice", "answer"]);
  });
});
