import { useInfiniteQuery } from "@tanstack/react-query";
import { type FormEvent, type KeyboardEvent, useId, useState } from "react";
import { sendKeyed } from "../../api/keyed";
import type { Goal } from "../../api/types";
import { Button } from "../../kit/Button";
import { ErrorState, errorText, FailureLine } from "../../kit/ErrorState";
import { callerName } from "../../kit/format";
import { MorePages, NoLines } from "../../kit/List";
import { Skeleton } from "../../kit/layout";
import { Time } from "../../kit/Time";
import { visible } from "../../kit/visible";
import { sendDraft, setTyped, useDraft } from "../conversations/drafts";
import { Value } from "../memory/Value";
import { useRefusal } from "../refusal";
import { sendMessage } from "../send-message";
import { refetchGoal } from "./actions";
import css from "./goals.module.css";
import { messagesOf } from "./message-pages";
import { isOver } from "./words";

const TO_ALL = "all";

/** The messages between the seats, the newest first, and the field of a person's message to a seat. */
export function Messages({ goal }: { goal: Goal }) {
  const pages = messagesOf(goal.id);
  const list = useInfiniteQuery(pages);
  const messages = list.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <>
      {!isOver(goal) && <SeatComposer goal={goal} />}
      {list.error && <ErrorState error={list.error} onRetry={() => list.refetch()} />}
      {list.data === undefined && !list.error && <Skeleton rows={3} />}
      {list.data !== undefined && messages.length === 0 && (
        <NoLines>No message yet. Seats write to each other, and you can write to each.</NoLines>
      )}
      <MorePages list={list} queryKey={pages.queryKey} direction="backward">
        Show newer
      </MorePages>
      {messages.length > 0 && (
        <ul className={css.messages} aria-label="Messages">
          {messages.map((message) => (
            <li key={message.id}>
              <p>
                <strong>
                  {message.from_seat_id == null ? callerName(message.from) : visible(message.from)} →{" "}
                  {visible(message.to)}
                </strong>
                <small>
                  <Time at={message.created_at} withTime />
                  {message.state !== "delivered" && `, ${message.state}`}
                </small>
              </p>
              <Value value={message.text} />
            </li>
          ))}
        </ul>
      )}
      <MorePages list={list} queryKey={pages.queryKey}>
        Show older
      </MorePages>
    </>
  );
}

/** Sends a message of a person to one seat, or to all. */
function SeatComposer({ goal }: { goal: Goal }) {
  const refusal = useRefusal()("sessions:write");
  const fieldId = useId();
  const [to, setTo] = useState(goal.seats[0]?.name ?? TO_ALL);
  const draftId = `goal.${goal.id}`;
  const { typed: draft, sending } = useDraft(draftId);
  const [error, setError] = useState<string | null>(null);
  const send = async () => {
    if (draft.trim() === "" || sending !== "" || refusal !== null) return;
    setError(null);
    try {
      await sendDraft(draftId, async (text) => {
        const body = { to, text };
        await sendKeyed(draftId, body, (idempotencyKey) =>
          sendMessage(`/sessions/${goal.id}/seat-messages`, body, idempotencyKey),
        );
      });
      refetchGoal(goal.id);
    } catch (problem) {
      setError(errorText(problem));
    }
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void send();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    void send();
  };
  return (
    <form className={css.composer} onSubmit={submit}>
      <div className={css.receiver}>
        <label htmlFor={fieldId}>To</label>
        <select id={fieldId} value={to} onChange={(event) => setTo(event.target.value)}>
          {goal.seats.map((seat) => (
            <option key={seat.id} value={seat.name}>
              {seat.name}
            </option>
          ))}
          <option value={TO_ALL}>all seats</option>
        </select>
      </div>
      <textarea
        rows={2}
        aria-label="Message to a seat"
        placeholder={to === TO_ALL ? "Message all seats…" : `Message ${to}…`}
        value={draft}
        onChange={(event) => setTyped(draftId, event.target.value)}
        onKeyDown={onKeyDown}
      />
      <Button type="submit" busy={sending !== ""} refusal={refusal} disabled={draft.trim() === ""}>
        Send
      </Button>
      {error !== null && <FailureLine>{error}</FailureLine>}
    </form>
  );
}
