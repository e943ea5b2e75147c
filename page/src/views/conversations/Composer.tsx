import { useQueryClient } from "@tanstack/react-query";
import { ArrowUp, Square } from "lucide-react";
import { type KeyboardEvent, memo, useEffect, useLayoutEffect, useRef, useState } from "react";
import { Link, useSearchParams } from "wouter";
import { post } from "../../api/client";
import { sendKeyed } from "../../api/keyed";
import { hasStatus } from "../../api/problem";
import { keys, usePermission } from "../../api/queries";
import type { Automation, Goal, OpenRun, SessionView } from "../../api/types";
import { Button } from "../../kit/Button";
import { errorText } from "../../kit/ErrorState";
import { toast } from "../../kit/Toast";
import { useConnection } from "../../shell/connection";
import { isTyping } from "../../shell/keys";
import { sendMessage } from "../send-message";
import css from "./conversation.module.css";
import { addTyped, sendDraft, setReceiver, setTyped, useDraft } from "./drafts";
import { placeholder, turnOf } from "./inputs";
import { titleOf } from "./names";
import { RequestDock } from "./RequestDock";
import { nameOfAsker, type Request } from "./requests";
import { UnsentText } from "./UnsentText";
import { WaitingInputs } from "./WaitingInputs";

const MAX_HEIGHT_PX = 240;
const CLOSED = new Set(["done", "failed", "archived"]);

export interface ComposerProps {
  view: SessionView;
  goal: Goal | null;
  agent: string;
  requests: Request[];
  automations: Automation[];
  /** The texts that a person sent before, the newest last. */
  sent: string[];
}

export const Composer = memo(function Composer(props: ComposerProps) {
  const { view, goal, agent, requests, automations, sent } = props;
  const client = useQueryClient();
  const may = usePermission();
  const { online } = useConnection();
  const [search, setSearch] = useSearchParams();
  const { typed: draft, sending, to } = useDraft(view.id);
  const entry = view.seats.find((each) => each.is_entry);
  const linked = search.get("seat");
  const seat = view.seats.find((each) => each.name === (linked ?? to)) ?? entry;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the setter is another one after each change of the address.
  useEffect(() => {
    if (linked === null) return;
    setReceiver(view.id, linked);
    // A link chooses once. Otherwise Back would put its seat in the place of one that was chosen since.
    setSearch(
      (now) => {
        now.delete("seat");
        return now;
      },
      { replace: true },
    );
  }, [linked, view.id]);
  const [error, setError] = useState<string | null>(null);
  const [recalled, setRecalled] = useState(0);
  const field = useRef<HTMLTextAreaElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the text is the reason to measure.
  useLayoutEffect(() => {
    const element = field.current;
    if (!element) return;
    element.style.height = "auto";
    element.style.height = `${Math.min(MAX_HEIGHT_PX, element.scrollHeight)}px`;
  }, [draft]);

  const turn = turnOf(view.open_runs, seat?.id);
  const offline = online ? null : "There is no connection. The draft is kept.";
  const mayWrite = may("sessions:write");
  const refusal = offline ?? (mayWrite ? null : "Your role does not permit this: it needs sessions:write");

  const send = async () => {
    if (draft.trim() === "" || sending !== "" || refusal !== null) return;
    setError(null);
    setRecalled(0);
    try {
      await sendDraft(view.id, async (text) => {
        const body = seat === entry ? { text } : { text, seat: seat?.name };
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
  const nameOf = (request: Request) => nameOfAsker(request, view, automations, agent);
  const runRefusal =
    offline ?? (may("runs:write") ? null : "Your role does not permit this: it needs runs:write");

  return (
    <div className={css.composer} data-asks={requests.length > 0}>
      <RequestDock requests={requests} nameOf={nameOf} agent={agent} disabled={offline} />
      <WaitingInputs
        view={view}
        goal={goal}
        automations={automations}
        refusal={runRefusal}
        closed={closed}
        onCancel={cancel}
        onGone={keepEdit}
      />
      {closed ? (
        <>
          {draft !== "" && (
            <div className={css.unsent}>
              <UnsentText text={draft} onDiscard={() => setTyped(view.id, "")} />
            </div>
          )}
          <div className={css.closed}>
            <span>This conversation is {view.state === "done" ? "completed" : view.state}.</span>
            <Link href={`/conversations?new=1&agent=${encodeURIComponent(agent)}`}>
              Begin another with {agent}
            </Link>
          </div>
        </>
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
            placeholder={placeholder(
              view,
              view.seats.length > 1 && seat ? seat.name : agent,
              turn !== undefined,
              goal !== null,
            )}
            disabled={!mayWrite}
            onChange={(event) => setTyped(view.id, event.target.value)}
            onKeyDown={onKeyDown}
          />
          <div className={css.composerFoot}>
            {view.seats.length > 1 && (
              <select
                aria-label="Seat"
                value={seat?.name}
                disabled={!mayWrite}
                onChange={(event) => setReceiver(view.id, event.target.value)}
              >
                {view.seats.map((each) => (
                  <option key={each.id} value={each.name}>
                    {each.name}
                  </option>
                ))}
              </select>
            )}
            <span>{refusal ?? (draft !== "" ? "Enter sends, Shift Enter begins a line" : "")}</span>
            {turn && (
              <Button
                size="large"
                refusal={runRefusal}
                disabled={turn.cancel_requested_at !== null}
                onClick={() => cancel(turn)}
              >
                <Square size={14} aria-hidden />
                <span>{turn.cancel_requested_at === null ? "Stop" : "Stopping"}</span>
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
