import { useInfiniteQuery } from "@tanstack/react-query";
import { type FormEvent, type KeyboardEvent, useId, useState } from "react";
import { sendKeyed } from "../../api/keyed";
import { usePermission } from "../../api/queries";
import type { Goal, Question, SeatMessage } from "../../api/types";
import { Button } from "../../kit/Button";
import { ErrorState, errorText, FailureLine } from "../../kit/ErrorState";
import { callerName, dayAndTime } from "../../kit/format";
import { MorePages, NoLines } from "../../kit/List";
import { Skeleton } from "../../kit/layout";
import { Time } from "../../kit/Time";
import { visible } from "../../kit/visible";
import { endText } from "../approvals/answering";
import { sendDraft, setReceiver, setTyped, useDraft } from "../conversations/drafts";
import { UnsentText } from "../conversations/UnsentText";
import { Value } from "../memory/Value";
import { useRefusal } from "../refusal";
import { sendMessage } from "../send-message";
import { refetchGoal } from "./actions";
import css from "./goals.module.css";
import { messagesOf } from "./message-pages";
import { merge, questionsOf } from "./questions";
import { isOver } from "./words";

const TO_ALL = "all";

/** The messages to the seats of a goal, and the questions of the seats, as far as they are read. */
export function useMessages(goal: string) {
  const permitted = usePermission()("approvals:read");
  const messages = useInfiniteQuery(messagesOf(goal));
  const questions = useInfiniteQuery({ ...questionsOf(goal), enabled: permitted });
  const part = <T,>({ data, hasNextPage, hasPreviousPage }: Paged<T>) => ({
    items: data?.pages.flatMap((page) => page.items) ?? [],
    hasOlder: hasNextPage,
    hasNewer: hasPreviousPage,
  });
  const merged = merge(part(messages), part(questions));
  return {
    messages,
    questions,
    // Otherwise the questions would push the messages down when they come.
    isRead: messages.data !== undefined && !questions.isLoading,
    ...merged,
    isWhole: merged.isWhole && questions.error === null,
  };
}

interface Paged<T> {
  data: { pages: { items: T[] }[] } | undefined;
  hasNextPage: boolean;
  hasPreviousPage: boolean;
}

/** The messages to the seats and their questions, the newest first, and the field of a person's message to a seat. */
export function Messages({ goal, list }: { goal: Goal; list: ReturnType<typeof useMessages> }) {
  const { messages, questions, isRead, entries, next } = list;
  const { queryKey } = messagesOf(goal.id);
  const older =
    next === "messages"
      ? { list: messages, queryKey }
      : { list: questions, queryKey: questionsOf(goal.id).queryKey };
  return (
    <>
      <SeatComposer goal={goal} />
      {[messages, questions].map(
        (each, index) =>
          each.error && (
            // biome-ignore lint/suspicious/noArrayIndexKey: the two lists keep their places.
            <ErrorState key={index} error={each.error} onRetry={() => each.refetch()} />
          ),
      )}
      {!isRead && !messages.error && <Skeleton rows={3} />}
      {isRead && entries.length === 0 && (
        <NoLines>No message yet. Seats write to each other, and you can write to each.</NoLines>
      )}
      <MorePages list={messages} queryKey={queryKey} direction="backward">
        Show newer
      </MorePages>
      {isRead && entries.length > 0 && (
        <ul className={css.messages} aria-label="Messages">
          {entries.map(({ message, question }) =>
            message ? (
              <MessageLine key={message.id} message={message} />
            ) : (
              <QuestionLine key={question.id} question={question} goal={goal} />
            ),
          )}
        </ul>
      )}
      <MorePages {...older}>Show older</MorePages>
    </>
  );
}

function MessageLine({ message }: { message: SeatMessage }) {
  return (
    <li>
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
  );
}

/** A question with its answer, and with the person, or the deadline, that gave the answer. */
function QuestionLine({ question, goal }: { question: Question; goal: Goal }) {
  const seat = goal.seats.find(({ id }) => id === question.seat_id)?.name ?? "A seat";
  const isPending = question.state === "pending";
  return (
    <li>
      <p>
        <strong>
          {visible(seat)} {isPending ? "asks" : "asked"}
        </strong>
        <small>
          <Time at={question.created_at} withTime />
        </small>
      </p>
      <Value value={question.text} />
      <div className={css.note}>
        <Value
          value={
            isPending
              ? `It waits for an answer until ${dayAndTime(question.deadline_at)}.`
              : endText(question)
          }
        />
      </div>
    </li>
  );
}

/** Sends a message of a person to one seat, or to all. Of a goal that is over, shows the text that was not sent. */
function SeatComposer({ goal }: { goal: Goal }) {
  const refusal = useRefusal()("sessions:write");
  const mayWrite = usePermission()("sessions:write");
  const fieldId = useId();
  const draftId = `goal.${goal.id}`;
  const { typed: draft, sending, to: chosen } = useDraft(draftId);
  const receivers = [...goal.seats.map(({ name }) => name), TO_ALL];
  const to = receivers.find((name) => name === chosen) ?? receivers[0];
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
  if (isOver(goal)) return <UnsentText text={draft} onDiscard={() => setTyped(draftId, "")} />;
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
        <select
          id={fieldId}
          value={to}
          disabled={!mayWrite}
          onChange={(event) => setReceiver(draftId, event.target.value)}
        >
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
        disabled={!mayWrite}
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
