/** Reads tool calls of agents. Their inputs and outputs have any form, so everything here is checked. */
import { structuredPatch } from "diff";
import type { Message } from "../../api/types";

export interface Tool {
  /** The agent's ID of the call; empty if it gave none. */
  call: string;
  status: "pending" | "in_progress" | "completed" | "failed" | "unknown";
  kind: string;
  input: unknown;
  output: unknown;
  /** The duration in milliseconds, if the server reports the start and the end. */
  durationMs: number | null;
}

export interface Diff {
  path: string;
  before: string;
  after: string;
}

const STATUSES = ["pending", "in_progress", "completed", "failed"] as const;

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function instant(value: unknown): number | null {
  const parsed = typeof value === "string" ? Date.parse(value) : Number.NaN;
  return Number.isNaN(parsed) ? null : parsed;
}

export function toolOf(row: Message): Tool {
  const metadata = isRecord(row.metadata) ? row.metadata : {};
  const started = instant(metadata.started_at);
  const ended = instant(metadata.ended_at);
  return {
    call: typeof metadata.tool_call_id === "string" ? metadata.tool_call_id : "",
    status: STATUSES.find((each) => each === metadata.status) ?? "unknown",
    kind: typeof metadata.tool_kind === "string" ? metadata.tool_kind : "other",
    input: metadata.input ?? null,
    output: metadata.output ?? null,
    durationMs: started === null || ended === null ? null : ended - started,
  };
}

/** The content of a tool call, as ACP describes it. Without an output of its own, `output` has the content. */
function contentOf(row: Message): unknown[] {
  const metadata = isRecord(row.metadata) ? row.metadata : {};
  if (Array.isArray(metadata.content)) return metadata.content;
  return Array.isArray(metadata.output) ? metadata.output : [];
}

export function diffsOf(row: Message): Diff[] {
  return contentOf(row).flatMap((part) => {
    if (!isRecord(part) || part.type !== "diff" || typeof part.path !== "string") return [];
    const before = typeof part.oldText === "string" ? part.oldText : "";
    const after = typeof part.newText === "string" ? part.newText : "";
    return [{ path: part.path, before, after }];
  });
}

/** Returns a value as text: JSON with indents, and texts as they are. */
export function asText(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value;
  if (Array.isArray(value)) {
    const texts = value.map((part) => {
      const content =
        isRecord(part) && part.type === "content" && isRecord(part.content) ? part.content : null;
      return content && typeof content.text === "string" ? content.text : null;
    });
    if (texts.length > 0 && texts.every((text) => text !== null)) return texts.join("\n");
  }
  if (isRecord(value) && typeof value.omitted_bytes === "number")
    return `${value.omitted_bytes} bytes, not stored`;
  return JSON.stringify(value, null, 2);
}

/** The one field of an input that says it all, such as the command; null if there is none. */
export function mainField(input: unknown): string | null {
  if (typeof input === "string") return input;
  if (!isRecord(input)) return null;
  for (const name of ["command", "cmd", "path", "file_path", "url", "query", "pattern"]) {
    const value = input[name];
    if (typeof value === "string") return value;
    if (Array.isArray(value) && value.every((part) => typeof part === "string")) return value.join(" ");
  }
  return null;
}

export interface DiffLine {
  kind: "same" | "added" | "deleted" | "gap";
  before: number | null;
  after: number | null;
  text: string;
}

/** Returns the changed lines with three lines around them, and the numbers of added and deleted lines. */
export function linesOf(diff: Diff): { lines: DiffLine[]; added: number; deleted: number } {
  const patch = structuredPatch(diff.path, diff.path, diff.before, diff.after, "", "", { context: 3 });
  const lines: DiffLine[] = [];
  let added = 0;
  let deleted = 0;
  for (const hunk of patch.hunks) {
    if (lines.length > 0) lines.push({ kind: "gap", before: null, after: null, text: "" });
    let before = hunk.oldStart;
    let after = hunk.newStart;
    for (const line of hunk.lines) {
      const text = line.slice(1);
      if (line.startsWith("+")) {
        lines.push({ kind: "added", before: null, after, text });
        after += 1;
        added += 1;
      } else if (line.startsWith("-")) {
        lines.push({ kind: "deleted", before, after: null, text });
        before += 1;
        deleted += 1;
      } else if (line.startsWith(" ")) {
        lines.push({ kind: "same", before, after, text });
        before += 1;
        after += 1;
      }
    }
  }
  return { lines, added, deleted };
}
