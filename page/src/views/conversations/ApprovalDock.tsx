import { useQueryClient } from "@tanstack/react-query";
import { ChevronLeft, ChevronRight, Timer } from "lucide-react";
import { useEffect, useState } from "react";
import { newKey, post } from "../../api/client";
import { hasStatus } from "../../api/problem";
import { keys, usePermission } from "../../api/queries";
import type { Approval } from "../../api/types";
import { Button, IconButton } from "../../kit/Button";
import { errorText } from "../../kit/ErrorState";
import { longTime } from "../../kit/format";
import { StatusGlyph } from "../../kit/Status";
import { Countdown } from "../../kit/Time";
import { toast } from "../../kit/Toast";
import css from "./conversation.module.css";
import { asText, mainField } from "./tools";

/** A click that was meant for something else must not decide: buttons do nothing this long after they appear. */
const INERT_MS = 500;

function useInert(shown: string): boolean {
  const [awake, setAwake] = useState<string | null>(null);
  useEffect(() => {
    const timer = setTimeout(() => setAwake(shown), INERT_MS);
    return () => clearTimeout(timer);
  }, [shown]);
  return awake !== shown;
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

/** The permission requests of a conversation, docked on its message field. */
export function ApprovalDock({ approvals, nameOf, agent, disabled }: ApprovalDockProps) {
  const client = useQueryClient();
  const may = usePermission();
  const [at, setAt] = useState(0);
  const [busy, setBusy] = useState<"allow" | "deny" | null>(null);
  const [sawCut, setSawCut] = useState<string | null>(null);
  const index = Math.min(at, approvals.length - 1);
  const approval = approvals[index];
  const inert = useInert(`${approval?.id}`);
  if (!approval) return null;
  const decide = async (decision: "allow" | "deny") => {
    if (inert) return;
    setBusy(decision);
    try {
      await post(`/approvals/${approval.id}/${decision}`, { idempotencyKey: newKey() });
    } catch (error) {
      // Decided elsewhere or expired: the list shows the new state.
      toast(hasStatus(error, 409) ? errorText(error) : `Not decided. ${errorText(error)}`);
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
            <IconButton label="Previous request" disabled={index === 0} onClick={() => setAt(index - 1)}>
              <ChevronLeft size={16} aria-hidden />
            </IconButton>
            <IconButton
              label="Next request"
              disabled={index === approvals.length - 1}
              onClick={() => setAt(index + 1)}
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
      <footer>
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
