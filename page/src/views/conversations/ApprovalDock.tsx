import { useQuery } from "@tanstack/react-query";
import { ChevronLeft, ChevronRight, Timer } from "lucide-react";
import { useRef, useState } from "react";
import { get } from "../../api/client";
import { keys } from "../../api/queries";
import type { Approval } from "../../api/types";
import { Button, IconButton } from "../../kit/Button";
import { longTime } from "../../kit/format";
import { StatusGlyph } from "../../kit/Status";
import { Countdown } from "../../kit/Time";
import { visible, visibleLines } from "../../kit/visible";
import { decide, fieldsOf, outcomeText, useInert, useWholeInput, VERBS } from "../approvals/decision";
import { useRefusal } from "../refusal";
import css from "./conversation.module.css";
import { asText, mainField } from "./tools";

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
  const refusalOf = useRefusal();
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
  const whole = useWholeInput(approval);
  if (approval === null) return null;
  // Until the answer nobody knows whether it was decided here.
  if (isOver && busy === null)
    return <Decided approval={approval} more={approvals.length} onLeave={() => setShown(first)} />;
  const index = found;
  const show = (next: number) => setShown(approvals[next] ?? null);
  const send = async (decision: "allow" | "deny") => {
    if (inert || busy !== null) return;
    setBusy(decision);
    // Decided elsewhere or expired: the dock says by whom.
    await decide(approval.id, decision, "", () => setDecidedHere(approval.id));
    setBusy(null);
  };
  const main = mainField(whole.input);
  const fields = fieldsOf(whole.input);
  const rest = main === null ? fields : fields.filter(([, value]) => value !== main);
  const refusal = disabled ?? refusalOf("approvals:write");
  const needsTick = whole.cut && sawCut !== approval.id;
  return (
    <section className={css.dock} aria-label="Permission request">
      <header>
        <StatusGlyph look="waits" />
        <strong>
          {visible(nameOf(approval))} asks<span className={css.desktopWords}> for permission</span>
        </strong>
        {approvals.length > 1 && !isOver && (
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
        <span>{VERBS[approval.tool_kind] ?? visible(approval.tool_kind)}</span>
        <pre tabIndex={0}>
          {visibleLines(
            main ?? (fields.length === 0 && asText(whole.input) ? asText(whole.input) : approval.title),
          )}
        </pre>
      </div>
      {rest.length > 0 && (
        <dl className={css.dockFields}>
          {rest.map(([name, value]) => (
            <div key={name}>
              <dt>{visible(name)}</dt>
              <dd>
                <pre>{visibleLines(value)}</pre>
              </dd>
            </div>
          ))}
        </dl>
      )}
      {whole.cut && (
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
          {visible(agent)} says: “{visible(approval.title)}”
        </span>
        <Button refusal={refusal} aria-disabled={inert} busy={busy === "deny"} onClick={() => send("deny")}>
          Deny
        </Button>
        <Button
          refusal={refusal}
          aria-disabled={inert}
          disabled={needsTick}
          busy={busy === "allow"}
          onClick={() => send("allow")}
        >
          Allow once
        </Button>
      </footer>
    </section>
  );
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
        <strong>{visibleLines(mainField(approval.input) ?? approval.title)}</strong>
      </header>
      <footer>
        <span className={css.dockWords}>{word}</span>
        <Button onClick={onLeave}>{more > 0 ? "Next request" : "Close"}</Button>
      </footer>
    </section>
  );
}
