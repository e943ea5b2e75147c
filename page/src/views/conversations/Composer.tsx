import { useQueryClient } from "@tanstack/react-query";
import { ArrowUp, Pencil, Square, X } from "lucide-react";
import { type KeyboardEvent, memo, useEffect, useLayoutEffect, useRef, useState } from "react";
import { Link, useSearchParams } from "wouter";
import { post } from "../../api/client";
import { sendKeyed } from "../../api/keyed";
import { hasStatus } from "../../api/problem";
import { keys, usePermission } from "../../api/queries";
import type { Approval, Automation, OpenRun, SessionView } from "../../api/types";
import { Button, IconButton } from "../../kit/Button";
import { errorText } from "../../kit/ErrorState";
import { clock, dayAndTime } from "../../kit/format";
import { toast } from "../../kit/Toast";
import { visible } from "../../kit/visible";
import { useConnection } from "../../shell/connection";
import { isTyping } from "../../shell/keys";
import { sendMessage } from "../send-message";
import { ApprovalDock } from "./ApprovalDock";
import css from "./conversation.module.css";
import { addTyped, sendDraft, setTyped, useDraft } from "./drafts";
import { EditWaiting } from "./EditWaiting";
import { titleOf } from "./names";
import { triggerKind } from "./rows";

const MAX_HEIGHT_PX = 240;
const CLOSED = new Set(["done", "failed", "archived"]);

export interface ComposerProps {
  view: SessionView;
  agent: string;
  approvals: Approval[];
  automations: Automation[];
  /** The texts that a person sent before, the newest last. */
  sent: string[];
}

export const Composer = memo(function Composer(props: ComposerProps) {
  const { view, agent, approvals, automations, sent } = props;
  const client = useQueryClient();
  const may = usePermission();
  const { online } = useConnection();
  const [search] = useSearchParams();
  const { typed: draft, sending } = useDraft(view.id);
  const entry = view.seats.find((seat) => seat.is_entry)?.name ?? "";
  const [chosenSeat, setSeat] = useState(search.get("seat"));
  const seat = view.seats.find((each) => each.name === chosenSeat)?.name ?? entry;
  const [error, setError] = useState<string | null>(null);
  const [recalled, setRecalled] = useState(0);
  /** The ID of the run whose message is being edited. */
  const [editing, setEditing] = useState<string | null>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the text is the reason to measure.
  useLayoutEffect(() => {
    const element = field.current;
    if (!element) return;
    element.style.height = "auto";
    element.style.height = `${Math.min(MAX_HEIGHT_PX, element.scrollHeight)}px`;
  }, [draft]);

  // A run whose file waits in a folder has not begun.
  const running = view.open_runs.find(
    (run) => run.status === "running" || (run.status === "delivered" && run.blocked_on?.for !== "runtime"),
  );
  const waiting = view.open_runs.filter((run) => run !== running);
  const offline = online ? null : "There is no connection. The draft is kept.";
  const mayWrite = may("sessions:write");
  const refusal = offline ?? (mayWrite ? null : "Your role does not permit this: it needs sessions:write");

  const send = async () => {
    if (draft.trim() === "" || sending !== "" || refusal !== null) return;
    setError(null);
    setRecalled(0);
    try {
      await sendDraft(view.id, async (text) => {
        const body = seat === entry ? { text } : { text, seat };
        await sendKeyed(view.id, body, (idempotencyKey) =>
          sendMessage(`/sessions/${view.id}/messages`, body, idempotencyKey),
        );
      });
      await client.invalidateQueries({ queryKey: keys.session(view.id) });
    } catch (problem) {
      setError(errorText(problem));
      // The person has left the conversation meanwhile.
      if (field.current === null) toast(`Not sent: ${titleOf(view)}. ${errorText(problem)}`);
      if (hasStatus(problem, 409)) client.invalidateQueries({ queryKey: keys.session(view.id) });
    }
  };

  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      send();
    } else if (event.key === "Escape") {
      event.currentTarget.blur();
    } else if (event.key === "ArrowUp" && (draft === "" || (recalled > 0 && draft === sent.at(-recalled)))) {
      const text = sent.at(-(recalled + 1));
      if (text === undefined) return;
      event.preventDefault();
      setRecalled(recalled + 1);
      setTyped(view.id, text);
    }
  };

  const cancel = async (run: OpenRun) => {
    try {
      await post(`/runs/${run.id}/cancel`);
    } catch (problem) {
      toast(errorText(problem));
    }
    await client.invalidateQueries({ queryKey: keys.session(view.id) });
  };

  const keepEdit = (text: string) => {
    addTyped(view.id, text);
    toast("Your change of the waiting message was not saved. It is in the composer.");
  };

  const closed = CLOSED.has(view.state);
  const nameOf = (approval: Approval) =>
    automations.find((automation) => automation.id === approval.automation_id)?.name ?? agent;
  const runRefusal =
    offline ?? (may("runs:write") ? null : "Your role does not permit this: it needs runs:write");

  return (
    <div className={css.composer} data-asks={approvals.length > 0}>
      <ApprovalDock approvals={approvals} nameOf={nameOf} agent={agent} disabled={offline} />
      {waiting.length > 0 && (
        <ol className={css.waiting} aria-label="Waiting inputs">
          {waiting.map((run, index) => (
            <Waiting
              key={run.id}
              number={index + 1}
              run={run}
              automations={automations}
              refusal={runRefusal}
              onCancel={() => cancel(run)}
              editing={editing === run.id}
              onEdit={
                // A message that waits for its next attempt is in the transcript already.
                run.origin === "person" && run.attempt === 1 && !closed
                  ? (edits) => setEditing(edits ? run.id : null)
                  : null
              }
              onGone={keepEdit}
            />
          ))}
        </ol>
      )}
      {closed ? (
        <div className={css.closed}>
          <span>This conversation is {view.state === "done" ? "completed" : view.state}.</span>
          <Link href={`/conversations?new=1&agent=${encodeURIComponent(agent)}`}>
            Begin another with {agent}
          </Link>
        </div>
      ) : (
        <>
          {error && (
            <p className={css.sendError} role="alert">
              {error}
            </p>
          )}
          <textarea
            ref={field}
            rows={1}
            aria-label="Message"
            value={draft}
            placeholder={placeholder(view, agent, running !== undefined)}
            disabled={!mayWrite}
            onChange={(event) => setTyped(view.id, event.target.value)}
            onKeyDown={onKeyDown}
          />
          <div className={css.composerFoot}>
            {view.seats.length > 1 && (
              <select
                aria-label="Seat"
                value={seat}
                disabled={!mayWrite}
                onChange={(event) => setSeat(event.target.value)}
              >
                {view.seats.map((each) => (
                  <option key={each.id} value={each.name}>
                    {each.name}
                  </option>
                ))}
              </select>
            )}
            <span>{refusal ?? (draft !== "" ? "Enter sends, Shift Enter begins a line" : "")}</span>
            {running && (
              <Button
                size="large"
                refusal={runRefusal}
                disabled={running.cancel_requested_at !== null}
                onClick={() => cancel(running)}
              >
                <Square size={14} aria-hidden />
                <span>{running.cancel_requested_at === null ? "Stop" : "Stopping"}</span>
              </Button>
            )}
            <Button
              kind="primary"
              size="large"
              busy={sending !== ""}
              refusal={refusal}
              disabled={draft.trim() === ""}
              onClick={send}
              aria-label="Send"
            >
              <ArrowUp size={16} aria-hidden className={css.phoneOnly} />
              <span className={css.desktopOnly}>Send</span>
            </Button>
          </div>
        </>
      )}
    </div>
  );
});

function placeholder(view: SessionView, agent: string, running: boolean): string {
  if (view.state === "draft") return `Message ${agent}. It waits until the conversation is enabled.`;
  if (view.state === "paused") return `Message ${agent}. It waits until resumed.`;
  return running ? `Message ${agent}. It is read when this turn ends.` : `Message ${agent}`;
}

function Waiting(props: {
  number: number;
  run: OpenRun;
  automations: Automation[];
  refusal: string | null;
  onCancel(): void;
  editing: boolean;
  /** Begins or ends the edit. Null if the input cannot be edited. */
  onEdit: ((edits: boolean) => void) | null;
  /** Takes the text of an edit that ends without a save. */
  onGone(text: string): void;
}) {
  const { run, automations, onEdit } = props;
  const automation = automations.find((each) => each.id === run.automation_id);
  const kind = triggerKind(automations, run.trigger_id);
  const source =
    kind === "webhook"
      ? `webhook at ${clock(run.created_at)}`
      : kind === "manual" || run.scheduled_for == null
        ? `by hand at ${clock(run.created_at)}`
        : `due ${dayAndTime(run.scheduled_for)}`;
  if (props.editing && onEdit) {
    return (
      <li>
        <span>{props.number}</span>
        <EditWaiting run={run} onClose={() => onEdit(false)} onGone={props.onGone} />
      </li>
    );
  }
  return (
    <li>
      <span>{props.number}</span>
      <span className="truncate" title={run.content}>
        {run.automation_id ? (
          <>
            <strong>{visible(automation?.name ?? "automation")}</strong> {source}
          </>
        ) : (
          run.content
        )}
      </span>
      <small>{waitReason(run)}</small>
      {onEdit && (
        <IconButton label="Edit this input" disabled={props.refusal !== null} onClick={() => onEdit(true)}>
          <Pencil size={16} aria-hidden />
        </IconButton>
      )}
      <IconButton label="Cancel this input" disabled={props.refusal !== null} onClick={props.onCancel}>
        <X size={16} aria-hidden />
      </IconButton>
    </li>
  );
}

/** Says why an input waits, unless it is the turn above it. */
export function waitReason(run: OpenRun): string {
  switch (run.blocked_on?.for) {
    case "budget":
      return "a budget is used up";
    case "session":
      return "waits until resumed";
    case "backoff":
      return run.not_before ? `tries again at ${clock(run.not_before)}` : "tries again soon";
    case "directory":
      return "waits for a server with its directory";
    case "worker":
      return "waits for a free place";
    case "instance":
      return `waits for ${run.blocked_on.name}, which is offline`;
    case "delivery":
      return `waits for its file on ${run.blocked_on.name}`;
    case "runtime":
      return `file waits at ${run.blocked_on.name}`;
    default:
      return "";
  }
}

/** Moves the focus to the message field when the conversation is opened, but not on phones, where a keyboard opens. */
export function useFocusOnOpen(id: string): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: another conversation is the reason.
  useEffect(() => {
    if (matchMedia("(pointer: fine)").matches && !isTyping()) {
      document
        .querySelector<HTMLTextAreaElement>('textarea[aria-label="Message"]')
        ?.focus({ preventScroll: true });
    }
  }, [id]);
}
