/** What the inbox and the dock of a conversation share: reading a request, and deciding it. */
import { useQuery } from "@tanstack/react-query";
import { type RefObject, useEffect, useRef, useState } from "react";
import { get, newKey, post } from "../../api/client";
import { hasStatus } from "../../api/problem";
import { keys, queryClient } from "../../api/queries";
import type { Approval, ApprovalInput } from "../../api/types";
import { errorText } from "../../kit/ErrorState";
import { callerNameAtStart, dayAndTime } from "../../kit/format";
import { toast } from "../../kit/Toast";
import { asText } from "../conversations/tools";

/** A click that was meant for something else must not decide: buttons do nothing this long after they appear or move. */
const INERT_MS = 500;

/** Returns `true` until the buttons have stood still for a moment, for the request that they decide. */
export function useInert(shown: string, buttons: RefObject<HTMLElement | null>): boolean {
  const [moves, setMoves] = useState(0);
  const place = useRef<string | null>(null);
  const key = `${shown} ${moves}`;
  const [awake, setAwake] = useState<string | null>(null);
  // Without dependencies, because each render can move the buttons, as a new waiting input does.
  useEffect(() => {
    const box = buttons.current?.getBoundingClientRect();
    const next = box === undefined ? null : `${Math.round(box.left)} ${Math.round(box.top)}`;
    if (place.current !== null && next !== null && next !== place.current) setMoves((count) => count + 1);
    place.current = next;
  });
  useEffect(() => {
    const timer = setTimeout(() => setAwake(key), INERT_MS);
    return () => clearTimeout(timer);
  }, [key]);
  return awake !== key;
}

export const VERBS: Record<string, string> = {
  execute: "Run",
  edit: "Edit",
  delete: "Delete",
  move: "Move",
  read: "Read",
  fetch: "Fetch",
  search: "Search",
};

export function fieldsOf(input: unknown): [string, string][] {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return [];
  return Object.entries(input).map(([name, value]) => [name, asText(value)]);
}

/** The input of a request, as far as the server has it. */
export interface WholeInput {
  input: unknown;
  /** `true` if `input` is only the beginning. */
  cut: boolean;
}

/** Reads the whole input of a request, because a list of requests has only the beginning of a long one. */
export function useWholeInput(approval: Approval | null): WholeInput {
  const cut = approval?.input_cut ?? false;
  const whole = useQuery({
    queryKey: [...keys.approvals, "input", approval?.id],
    queryFn: ({ signal }) => get<ApprovalInput>(`/approvals/${approval?.id}/input`, {}, signal),
    enabled: cut,
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (!cut || whole.data === undefined) return { input: approval?.input ?? null, cut };
  return { input: whole.data.input, cut: whole.data.cut };
}

/**
 * Decides a request. Returns `false` if it was not decided here: the list then shows what became of it. `onDecided` is
 * called before the list is read again.
 */
export async function decide(
  id: string,
  decision: "allow" | "deny",
  comment = "",
  onDecided = () => {},
): Promise<boolean> {
  try {
    await post(`/approvals/${id}/${decision}`, {
      idempotencyKey: newKey(),
      ...(comment === "" ? {} : { body: { comment } }),
    });
    onDecided();
    return true;
  } catch (error) {
    if (!hasStatus(error, 409)) toast(`Not decided. ${errorText(error)}`);
    return false;
  } finally {
    queryClient.invalidateQueries({ queryKey: keys.overview });
    await queryClient.invalidateQueries({ queryKey: keys.approvals });
  }
}

/** Says how a request ended that this tab did not decide. */
export function outcomeText(approval: Approval): string {
  const who = approval.decided_by && callerNameAtStart(approval.decided_by);
  const at = approval.decided_at === null ? "" : ` at ${dayAndTime(approval.decided_at)}`;
  switch (approval.state) {
    case "allowed":
      return `${who ?? "Another person"} allowed this${at}.`;
    case "denied":
      return `${who ?? "Another person"} denied this${at}.`;
    case "expired":
      return `Denied${at}, because nobody answered in time.`;
    case "void":
      return `The turn has ended${at}, so it needs no answer.`;
    default:
      return "It waits no longer.";
  }
}
