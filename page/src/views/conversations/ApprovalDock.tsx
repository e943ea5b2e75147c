import { useQuery, useQueryClient } from "@tanstack/react-query";
import { ChevronLeft, ChevronRight, Timer } from "lucide-react";
import { type RefObject, useEffect, useRef, useState } from "react";
import { get, newKey, post } from "../../api/client";
import { hasStatus } from "../../api/problem";
import { keys, usePermission } from "../../api/queries";
import type { Approval } from "../../api/types";
import { Button, IconButton } from "../../kit/Button";
import { errorText } from "../../kit/ErrorState";
import { clock, longTime } from "../../kit/format";
import { StatusGlyph } from "../../kit/Status";
import { Countdown } from "../../kit/Time";
import { toast } from "../../kit/Toast";
import css from "./conversation.module.css";
import { asText, mainField } from "./tools";

/** A click that was meant for something else must not decide: buttons do nothing this long after they appear or move. */
const INERT_MS = 500;

/** Returns `true` until the buttons have stood still for a moment, for the request that they decide. */
function useInert(shown: string, buttons: RefObject<HTMLElement | null>): boolean {
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

const VERBS: Record<string, string> = {
  execute: "Run",
  edit: "Edit",
  delete: "Delete",
  move: "Move",
  read: "Read",
  fetch: "Fetch",
  search: "Search",
};

function fieldsOf(input: unknown): [string, string][] {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return [];
  return Object.entries(input).map(([name, value]) => [name, asText(value)]);
}

export interface ApprovalDockProps {
  approvals: Approval[];
  /** Names the automation or the agent that asks. */
  nameOf(approval: Approval): string;
  agent: string;
  disabled: string | null;
}

/**
 * The permission requests of a conversation, docked on its message field. A request that a person reads stays until the
 * person decides or leaves it: another one in its place would get the decision that was meant for the first one.
 */
export function ApprovalDock({ approvals, nameOf, agent, disabled }: ApprovalDockProps) {
  const client = useQueryClient();
  const may = usePermission();
  const [shown, setShown] = useState<Approval | null>(null);
  const [decidedHere, setDecidedHere] = useState<string | null>(null);
  const [busy, setBusy] = useState<"allow" | "deny" | null>(null);
  const [sawCut, setSawCut] = useState<string | null>(null);
  const buttons = useRef<HTMLElement>(null);
  const first = approvals[0] ?? null;
  const found = shown === null ? -1 : approvals.findIndex((each) => each.id === shown.id);
  const isOver = shown !== null && found < 0;
  if ((shown === null && first !== null) || (isOver && decidedHere === shown.id)) setShown(first);
  const approval = approvals[found] ?? shown;
  const inert = useInert(`${approval?.id}`, buttons);
  if (approval === null) return null;
  if (isOver) return <Decided approval={approval} more={approvals.length} onLeave={() => setShown(first)} />;
  const index = found;
  const show = (next: number) => setShown(approvals[next] ?? null);
  const decide = async (decision: "allow" | "deny") => {
    if (inert) return;
    setBusy(decision);
    setDecidedHere(approval.id);
    try {
      await post(`/approvals/${approval.id}/${decision}`, { idempotencyKey: newKey() });
    } catch (error) {
      // Decided elsewhere or expired: the dock says by whom.
      setDecidedHere(null);
      if (!hasStatus(error, 409)) toast(`Not decided. ${errorText(error)}`);
    } finally {
      await client.invalidateQueries({ queryKey: keys.approvals });
      setBusy(null);
    }
  };
  const main = mainField(approval.input);
  const fields = fieldsOf(approval.input);
  const rest = main === null ? fields : fields.filter(([, value]) => value !== main);
  const refusal =
    disabled ?? (may("approvals:write") ? null : "Your role does not permit this: it needs approvals:write");
  const needsTick = approval.input_cut && sawCut !== approval.id;
  return (
    <section className={css.dock} aria-label="Permission request">
      <header>
        <StatusGlyph look="waits" />
        <strong>
          {nameOf(approval)} asks<span className={css.desktopWords}> for permission</span>
        </strong>
        {approvals.length > 1 && (
          <span className={css.dockPages}>
            {index + 1} of {approvals.length}
            <IconButton label="Previous request" disabled={index === 0} onClick={() => show(index - 1)}>
              <ChevronLeft size={16} aria-hidden />
            </IconButton>
            <IconButton
              label="Next request"
              disabled={index === approvals.length - 1}
              onClick={() => show(index + 1)}
            >
              <ChevronRight size={16} aria-hidden />
            </IconButton>
          </span>
        )}
        <span
          className={css.dockLeft}
          title={`Denied at ${longTime(approval.deadline_at)} without a decision`}
        >
          <Timer size={16} aria-hidden />
          <span>
            <Countdown until={approval.deadline_at} /> left, then denied
          </span>
        </span>
      </header>
      <div className={css.dockInput}>
        <span>{VERBS[approval.tool_kind] ?? approval.tool_kind}</span>
        <pre tabIndex={0}>
          {main ?? (fields.length === 0 ? asText(approval.input) || approval.title : approval.title)}
        </pre>
      </div>
      {rest.length > 0 && (
        <dl className={css.dockFields}>
          {rest.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>
                <pre>{value}</pre>
              </dd>
            </div>
          ))}
        </dl>
      )}
      {approval.input_cut && (
        <label className={css.dockTick}>
          <input
            type="checkbox"
            checked={sawCut === approval.id}
            onChange={(event) => setSawCut(event.target.checked ? approval.id : null)}
          />
          Only the beginning of the input is shown. I allow it all the same.
        </label>
      )}
      <footer ref={buttons}>
        <span className={css.dockWords}>
          {agent} says: “{approval.title}”
        </span>
        <Button refusal={refusal} aria-disabled={inert} busy={busy === "deny"} onClick={() => decide("deny")}>
          Deny
        </Button>
        <Button
          refusal={refusal}
          aria-disabled={inert}
          disabled={needsTick}
          busy={busy === "allow"}
          onClick={() => decide("allow")}
        >
          Allow once
        </Button>
      </footer>
    </section>
  );
}

/** Says how a request ended that this tab did not decide. */
function outcomeText(approval: Approval): string {
  const who = approval.decided_by === "socket" ? "A person at the server" : approval.decided_by;
  const at = approval.decided_at === null ? "" : ` at ${clock(approval.decided_at)}`;
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

function Decided({ approval, more, onLeave }: { approval: Approval; more: number; onLeave(): void }) {
  const ended = useQuery({
    queryKey: [...keys.approvals, approval.id],
    queryFn: ({ signal }) => get<Approval>(`/approvals/${approval.id}`, {}, signal),
    initialData: approval,
    staleTime: 0,
  });
  const { state } = ended.data;
  const word = ended.isFetching && state === "pending" ? "It waits no longer." : outcomeText(ended.data);
  return (
    <section className={css.dock} aria-label="Permission request" role="status">
      <header>
        <StatusGlyph look={state === "allowed" ? "succeeded" : "cancelled"} />
        <strong>{mainField(approval.input) ?? approval.title}</strong>
      </header>
      <footer>
        <span className={css.dockWords}>{word}</span>
        <Button onClick={onLeave}>{more > 0 ? "Next request" : "Close"}</Button>
      </footer>
    </section>
  );
}
