/** Proposes the rule that would allow a request from now on, and nothing more than this request. */
import type { Approval, PermissionRule } from "../../api/types";

/** The words of a command that a pattern can stand for exactly: no quotes, wildcards or other marks of a shell. */
const PLAIN = /^[A-Za-z0-9_@%+:,./ -]+$/;

const COMMAND_FIELDS = ["command", "cmd", "script"];

function commandOf(input: unknown): unknown {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return undefined;
  for (const field of COMMAND_FIELDS) {
    const value = (input as Record<string, unknown>)[field];
    if (value !== undefined) return value;
  }
  return undefined;
}

/**
 * Returns the rule; null if no pattern says exactly this. The server compares the words of a whole command, and the
 * title of any other request.
 */
export function ruleFor(
  approval: Pick<Approval, "tool_kind" | "title">,
  input: unknown,
): PermissionRule | null {
  const command = commandOf(input);
  if (approval.tool_kind === "execute" || command !== undefined) {
    if (typeof command !== "string" || !PLAIN.test(command) || command.trim() === "") return null;
    return { tool: approval.tool_kind, title: command.trim().replace(/ +/g, " "), verdict: "allow" };
  }
  if (approval.title === "" || approval.title.includes("*")) return null;
  return { tool: approval.tool_kind, title: approval.title, verdict: "allow" };
}

/** A rule as the commands write it. */
export function ruleText(rule: PermissionRule): string {
  return rule.title === null ? rule.tool : `${rule.tool}:${rule.title}`;
}
