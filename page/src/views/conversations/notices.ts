/** The notices of a transcript: those of Matins, and those and the compactions of agents. */
import type { Message } from "../../api/types";
import { localTimes } from "../../kit/format";

export type Notice =
  | { from: "matins"; text: string }
  | { from: "agent"; severity: "info" | "warning" | "error"; title: string; description: string | null }
  | { from: "compaction"; status: "running" | "succeeded" | "failed"; text: string; summary: string | null };

interface Facts {
  notice?: unknown;
  status?: unknown;
  summary?: unknown;
  severity?: unknown;
  title?: unknown;
  description?: unknown;
  _from_name?: unknown;
  _to_name?: unknown;
}

/** The deadline in the notice of a question. Other instants may be in the words of the agent, which stay as they are. */
const DEADLINE = /^Without an answer until \S+Z/gm;

const textOf = (value: unknown): string | null => (typeof value === "string" && value !== "" ? value : null);

/** Returns the content of a row of the kind `notice`. Rows of another author are notices of Matins. */
export function noticeOf(row: Message): Notice {
  const facts = (row.metadata ?? {}) as Facts;
  const [from, to] = [textOf(facts._from_name), textOf(facts._to_name)];
  // A message from one seat to another is the text of an agent, never of Matins.
  if (from !== null && to !== null)
    return { from: "agent", severity: "info", title: `${from} to ${to}`, description: row.content };
  if (row.role !== "assistant")
    return { from: "matins", text: row.content.replace(DEADLINE, (at) => localTimes(at)) };
  if (facts.notice === "compaction") {
    const { status } = facts;
    return {
      from: "compaction",
      status: status === "in_progress" ? "running" : status === "completed" ? "succeeded" : "failed",
      text: row.content,
      summary: textOf(facts.summary),
    };
  }
  const { severity } = facts;
  return {
    from: "agent",
    severity: severity === "warning" || severity === "error" ? severity : "info",
    title: textOf(facts.title) ?? row.content,
    description: textOf(facts.description),
  };
}
