/** Questions of agents in the inbox: a row of the list, and the question with its answer. */
import { useQuery } from "@tanstack/react-query";
import { Timer } from "lucide-react";
import { type FormEvent, useId, useMemo, useRef, useState } from "react";
import { Link } from "wouter";
import { get } from "../../api/client";
import { hasStatus } from "../../api/problem";
import { keys, useAutomations } from "../../api/queries";
import type { Question, RunView } from "../../api/types";
import { Button } from "../../kit/Button";
import { Callout, ErrorState } from "../../kit/ErrorState";
import { dayAndTime, longTime } from "../../kit/format";
import { EmptyState, Skeleton } from "../../kit/layout";
import { StatusGlyph } from "../../kit/Status";
import { Countdown } from "../../kit/Time";
import { addressOfQuestion, addressOfRun, addressOfSession } from "../addresses";
import { useRefusal } from "../refusal";
import { type Answer, answerQuestion, answerText, declineQuestion, endText } from "./answering";
import css from "./approvals.module.css";
import { useInert } from "./decision";
import { answerOf, type FormField, fieldsOf, type Values } from "./form";

const ANSWER_CHARS = 8192;

/** `true` if an ID of the inbox is that of a question. */
export const isQuestion = (id: string): boolean => id.startsWith("que_");

function useNameOf(question: Question): string {
  const automations = useAutomations();
  return automations.data?.items.find((each) => each.id === question.automation_id)?.name ?? "A conversation";
}

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
        <span className="truncate">{question.text}</span>
      </span>
      <small>
        <Countdown until={question.deadline_at} />
      </small>
    </Link>
  );
}

export function QuestionPane({ id }: { id: string }) {
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
  return <QuestionView question={found.data} />;
}

function QuestionView({ question }: { question: Question }) {
  const name = useNameOf(question);
  const run = useQuery({
    queryKey: [...keys.runs, "one", question.run_id],
    queryFn: ({ signal }) => get<RunView>(`/runs/${question.run_id}`, {}, signal),
  });
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
          <p>
            <Link href={`${addressOfSession(question.session_id)}?run=${question.run_id}`}>
              {run.data?.session_title ?? "Conversation"}
            </Link>
            , <Link href={addressOfRun(question.run_id)}>run</Link> of {run.data?.agent_name ?? "the agent"},{" "}
            <time dateTime={question.created_at} title={longTime(question.created_at)}>
              {dayAndTime(question.created_at)}
            </time>
          </p>
        </div>
        {pending && (
          <span className={css.left} title={longTime(question.deadline_at)}>
            <Timer size={16} aria-hidden /> <Countdown until={question.deadline_at} /> left
          </span>
        )}
      </header>
      <div className={css.words}>
        <p className={css.question}>{question.text}</p>
        <small>the agent’s own words</small>
      </div>
      <QuestionAnswer question={question} />
    </section>
  );
}

/** The answer box of a question that waits; how it ended otherwise. */
export function QuestionAnswer({ question }: { question: Question }) {
  if (question.state !== "pending") return <Callout title={endText(question)}>{null}</Callout>;
  return question.form ? <FieldsForm question={question} /> : <AnswerForm question={question} />;
}

function AnswerForm({ question }: { question: Question }) {
  const refusal = useRefusal()("approvals:write");
  const fieldId = useId();
  const [text, setText] = useState("");
  const [busy, setBusy] = useState<number | "text" | null>(null);
  const buttons = useRef<HTMLDivElement>(null);
  const inert = useInert(question.id, buttons);
  const send = async (which: number | "text", answer: Answer) => {
    if (inert || busy !== null) return;
    setBusy(which);
    await answerQuestion(question.id, answer);
    setBusy(null);
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
            onClick={() => send(index + 1, { option: index + 1 })}
          >
            {option}
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
          onChange={(event) => setText(event.target.value)}
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
          : `Without an answer until ${dayAndTime(question.deadline_at)}, “${answerText(question.default)}” counts.`}
      </p>
    </>
  );
}

/** The form of an agent that waits in its turn. */
function FieldsForm({ question }: { question: Question }) {
  const refusal = useRefusal()("approvals:write");
  const fields = useMemo(() => fieldsOf(question.form), [question.form]);
  const [values, setValues] = useState<Values>({});
  const [busy, setBusy] = useState<"answer" | "decline" | null>(null);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy("answer");
    await answerQuestion(question.id, { form: answerOf(fields, values) });
    setBusy(null);
  };
  const decline = async () => {
    setBusy("decline");
    await declineQuestion(question.id);
    setBusy(null);
  };
  return (
    <form className={css.fields} onSubmit={submit}>
      {fields.map((field) => (
        <Field
          key={field.name}
          field={field}
          value={values[field.name] ?? field.initial}
          onChange={(value) => setValues({ ...values, [field.name]: value })}
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

function Field(props: { field: FormField; value: Value; onChange(value: Value): void }) {
  const { field, value, onChange } = props;
  const id = `field-${field.name}`;
  return (
    <div className={css.comment}>
      <label htmlFor={id}>
        <span>
          {field.title}
          {field.required && " (required)"}
        </span>
      </label>
      {field.kind === "boolean" ? (
        <input
          id={id}
          type="checkbox"
          checked={value === true}
          onChange={(event) => onChange(event.target.checked)}
        />
      ) : field.kind === "choice" || field.kind === "choices" ? (
        <select
          id={id}
          multiple={field.kind === "choices"}
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
              {choice.title}
            </option>
          ))}
        </select>
      ) : (
        <input
          id={id}
          type={field.kind === "number" ? "number" : "text"}
          step="any"
          required={field.required && field.kind === "number"}
          value={value as string}
          maxLength={ANSWER_CHARS}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
      {field.description !== null && <small>{field.description}</small>}
    </div>
  );
}
