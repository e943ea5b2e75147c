/** Questions of agents in the inbox: a row of the list, and the question with its answer. */
import { useQuery } from "@tanstack/react-query";
import { Timer } from "lucide-react";
import { type FormEvent, useId, useMemo, useRef, useState } from "react";
import { Link } from "wouter";
import { get } from "../../api/client";
import { hasStatus } from "../../api/problem";
import { keys, usePermission } from "../../api/queries";
import type { Question } from "../../api/types";
import { Button } from "../../kit/Button";
import { Callout, ErrorState } from "../../kit/ErrorState";
import { dayAndTime, longTime } from "../../kit/format";
import { EmptyState, Skeleton } from "../../kit/layout";
import { StatusGlyph } from "../../kit/Status";
import { Countdown } from "../../kit/Time";
import { visible, visibleLines } from "../../kit/visible";
import { addressOfQuestion } from "../addresses";
import { draftOf, setTyped, useDraft } from "../conversations/drafts";
import { useRefusal } from "../refusal";
import { AskedIn, useNameOf } from "./Asked";
import { type Answer, answerQuestion, answerText, declineQuestion, endText, lateText } from "./answering";
import css from "./approvals.module.css";
import { useInert } from "./decision";
import { answerOf, type FormField, fieldsOf, type Values } from "./form";

const ANSWER_CHARS = 8192;

/** `true` if an ID of the inbox is that of a question. */
export const isQuestion = (id: string): boolean => id.startsWith("que_");

export function QuestionRow({ question, current }: { question: Question; current: boolean }) {
  return (
    <Link
      href={addressOfQuestion(question.id)}
      className={css.row}
      aria-current={current ? "true" : undefined}
    >
      <StatusGlyph look="waits" title="waits for an answer" />
      <span>
        <strong className="truncate">{useNameOf(question)}</strong>
        <span className="truncate">{visibleLines(question.text)}</span>
      </span>
      <small>
        <Countdown until={question.deadline_at} />
      </small>
    </Link>
  );
}

export function QuestionPane({ id, onAnswered }: { id: string; onAnswered(): void }) {
  const found = useQuery({
    queryKey: [...keys.questions, id],
    queryFn: ({ signal }) => get<Question>(`/questions/${id}`, {}, signal),
  });
  if (found.data === undefined) {
    return (
      <section className={css.request}>
        {hasStatus(found.error, 404) ? (
          <EmptyState
            text="There is no such question."
            action={<Link href="/approvals">All requests</Link>}
          />
        ) : found.error ? (
          <ErrorState error={found.error} onRetry={() => found.refetch()} />
        ) : (
          <Skeleton rows={6} />
        )}
      </section>
    );
  }
  return <QuestionView question={found.data} onAnswered={onAnswered} />;
}

function QuestionView({ question, onAnswered }: { question: Question; onAnswered(): void }) {
  const name = useNameOf(question);
  const pending = question.state === "pending";
  return (
    <section className={css.request} aria-label="Question">
      <header>
        <Link className={css.back} href="/approvals">
          All requests
        </Link>
        <div>
          <h2>
            <StatusGlyph
              look={pending ? "waits" : question.state === "answered" ? "succeeded" : "cancelled"}
            />
            {name} {pending ? "has" : "had"} a question
          </h2>
          <AskedIn asked={question} />
        </div>
        {pending && (
          <span className={css.left} title={longTime(question.deadline_at)}>
            <Timer size={16} aria-hidden /> <Countdown until={question.deadline_at} /> left
          </span>
        )}
      </header>
      <div className={css.words}>
        <p className={css.question}>{visibleLines(question.text)}</p>
        <small>the agent’s own words</small>
      </div>
      <QuestionAnswer question={question} onAnswered={onAnswered} />
    </section>
  );
}

interface AnswerProps {
  question: Question;
  /** Called after an answer of this page, and not when another person was faster. */
  onAnswered?(): void;
}

/**
 * The answer box of a question that waits; how it ended otherwise, with the text that came too late. Give the component a
 * `key` of the question.
 */
export function QuestionAnswer({ question, onAnswered = () => {} }: AnswerProps) {
  const { typed: text } = useDraft(question.id);
  if (question.state !== "pending") {
    const late = lateText(question, text);
    return (
      <Callout title={visibleLines(endText(question))}>
        {late !== null && `Your answer was not sent: “${late}”`}
      </Callout>
    );
  }
  const common = { question, onAnswered };
  return question.form ? <FieldsForm {...common} /> : <AnswerForm {...common} text={text} />;
}

function AnswerForm({ question, onAnswered, text }: Required<AnswerProps> & { text: string }) {
  const refusal = useRefusal()("approvals:write");
  const mayAnswer = usePermission()("approvals:write");
  const fieldId = useId();
  const [busy, setBusy] = useState<number | "text" | null>(null);
  const buttons = useRef<HTMLDivElement>(null);
  const inert = useInert(question.id, buttons);
  const send = async (which: number | "text", answer: Answer) => {
    if (busy !== null) return;
    setBusy(which);
    // The text is sent, or an option is chosen in its place. What is typed from now on would come too late.
    setTyped(question.id, "");
    const isAnswered = await answerQuestion(question.id, answer);
    if (!isAnswered && draftOf(question.id).typed === "") setTyped(question.id, text);
    setBusy(null);
    if (isAnswered) onAnswered();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (text.trim() !== "") send("text", { text: text.trim() });
  };
  return (
    <>
      <div ref={buttons} className={css.options}>
        {question.options.map((option, index) => (
          <Button
            // biome-ignore lint/suspicious/noArrayIndexKey: agents may repeat an option, and the number is the answer.
            key={index}
            size="large"
            refusal={refusal}
            aria-disabled={inert}
            busy={busy === index + 1}
            onClick={() => !inert && send(index + 1, { option: index + 1 })}
          >
            {visible(option)}
          </Button>
        ))}
      </div>
      <form className={css.comment} onSubmit={submit}>
        <label htmlFor={fieldId}>
          <span>{question.options.length > 0 ? "Another answer" : "Your answer"}</span>
        </label>
        <input
          id={fieldId}
          value={text}
          maxLength={ANSWER_CHARS}
          disabled={!mayAnswer}
          onChange={(event) => setTyped(question.id, event.target.value)}
        />
        <Button
          type="submit"
          kind="primary"
          refusal={refusal}
          disabled={text.trim() === ""}
          busy={busy === "text"}
        >
          Answer
        </Button>
      </form>
      <p className={css.otherwise}>
        {question.default === null || question.default === undefined
          ? `Without an answer until ${dayAndTime(question.deadline_at)} the agent goes on without one.`
          : `Without an answer until ${dayAndTime(question.deadline_at)}, “${visible(answerText(question.default))}” counts.`}
      </p>
    </>
  );
}

/** The form of an agent that waits in its turn. */
function FieldsForm({ question, onAnswered }: Required<AnswerProps>) {
  const refusal = useRefusal()("approvals:write");
  const mayAnswer = usePermission()("approvals:write");
  const fields = useMemo(() => fieldsOf(question.form), [question.form]);
  const [values, setValues] = useState<Values>({});
  const [busy, setBusy] = useState<"answer" | "decline" | null>(null);
  const act = async (which: "answer" | "decline", close: () => Promise<boolean>) => {
    if (busy !== null) return;
    setBusy(which);
    const isClosed = await close();
    setBusy(null);
    if (isClosed) onAnswered();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    act("answer", () => answerQuestion(question.id, { form: answerOf(fields, values) }));
  };
  const decline = () => act("decline", () => declineQuestion(question.id));
  return (
    <form className={css.fields} onSubmit={submit}>
      {fields.map((field) => (
        <Field
          key={field.name}
          field={field}
          value={values[field.name] ?? field.initial}
          disabled={!mayAnswer}
          onChange={(value) => setValues((now) => ({ ...now, [field.name]: value }))}
        />
      ))}
      <div className={css.formActions}>
        <Button type="submit" kind="primary" refusal={refusal} busy={busy === "answer"}>
          Answer
        </Button>
        <Button refusal={refusal} busy={busy === "decline"} onClick={decline}>
          Decline
        </Button>
      </div>
      <p className={css.otherwise}>
        {question.default == null
          ? `Declined at ${dayAndTime(question.deadline_at)} if nobody answers.`
          : `Its defaults count at ${dayAndTime(question.deadline_at)} if nobody answers.`}
      </p>
    </form>
  );
}

type Value = Values[string];

function Field(props: { field: FormField; value: Value; disabled: boolean; onChange(value: Value): void }) {
  const { field, value, disabled, onChange } = props;
  // Forms of several questions stand on one page.
  const id = useId();
  return (
    <div className={css.comment}>
      <label htmlFor={id}>
        <span>
          {visible(field.title)}
          {field.required && " (required)"}
        </span>
      </label>
      {field.kind === "boolean" ? (
        <input
          id={id}
          type="checkbox"
          disabled={disabled}
          checked={value === true}
          onChange={(event) => onChange(event.target.checked)}
        />
      ) : field.kind === "choice" || field.kind === "choices" ? (
        <select
          id={id}
          multiple={field.kind === "choices"}
          disabled={disabled}
          required={field.required}
          value={value as string | string[]}
          onChange={(event) => {
            const chosen = [...event.target.selectedOptions].map((option) => option.value);
            onChange(field.kind === "choices" ? chosen : (chosen[0] ?? ""));
          }}
        >
          {field.kind === "choice" && <option value="">None</option>}
          {field.choices.map((choice) => (
            <option key={choice.value} value={choice.value}>
              {visible(choice.title)}
            </option>
          ))}
        </select>
      ) : (
        <input
          id={id}
          type={field.kind === "number" ? "number" : "text"}
          step="any"
          disabled={disabled}
          required={field.required && field.kind === "number"}
          value={value as string}
          maxLength={ANSWER_CHARS}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
      {field.description !== null && <small>{visibleLines(field.description)}</small>}
    </div>
  );
}
