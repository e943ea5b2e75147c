/** A row of the editor: a label, a control, the problem with it, and the stored value if another one is there now. */
import { ChevronRight } from "lucide-react";
import { type ReactNode, useEffect, useId, useRef } from "react";
import { FailureLine } from "../../kit/ErrorState";
import css from "./automations.module.css";
import type { Form } from "./form";

export const LABELS: Record<keyof Form, string> = {
  name: "Name",
  agent: "Agent",
  prompt: "Ask",
  where: "Where",
  session: "Conversation",
  cwd: "Directory",
  placedOn: "Instance",
  zone: "Zone",
  triggers: "When",
  overlap: "Overlap",
  catchUp: "If the server was off",
  catchUpHours: "Hours late",
  timeoutMinutes: "Minutes a turn",
  silenceMinutes: "Minutes of silence",
  attempts: "Attempts",
  pauseAfter: "Failures in a row",
  dayCost: "Cost a day",
  monthCost: "Cost a month",
  currency: "Currency",
  dayTurns: "Turns a day",
  onUnmatched: "Other requests",
  askMinutes: "Minutes to answer",
  rules: "Rules",
  quietHours: "Quiet hours",
  precheck: "Check before",
};

export interface RowContext {
  form: Form;
  before: Form;
  isNew: boolean;
  problem: { field: keyof Form | null; text: string } | null;
  set<F extends keyof Form>(field: F, value: Form[F]): void;
}

/** A value of a field in words, for "was". */
export function textOf(value: Form[keyof Form]): string {
  if (typeof value === "string") return value === "" ? "empty" : value;
  return value
    .map((trigger) =>
      "expression" in trigger
        ? trigger.expression
        : "period" in trigger
          ? trigger.period
          : "at" in trigger
            ? trigger.at
            : "webhook",
    )
    .join(", ");
}

export function Row(props: {
  field: keyof Form;
  context: RowContext;
  note?: string | null | undefined;
  children: ReactNode;
}) {
  const { field, context, note, children } = props;
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  const differs =
    !context.isNew && JSON.stringify(context.form[field]) !== JSON.stringify(context.before[field]);
  const error = context.problem?.field === field ? context.problem.text : null;
  useEffect(() => {
    // The label names the first control of the row, whatever it is.
    const control = box.current?.querySelector<HTMLElement>("input:not([type=radio]), textarea, select");
    if (!control) return;
    control.id = `${id}-control`;
    if (error === null) control.removeAttribute("aria-invalid");
    else control.setAttribute("aria-invalid", "true");
    if (error !== null || note) control.setAttribute("aria-describedby", `${id}-note`);
    else control.removeAttribute("aria-describedby");
  });
  return (
    <div className={css.formRow} data-changed={differs} data-field={field}>
      <label htmlFor={`${id}-control`}>{LABELS[field]}</label>
      <div ref={box}>
        {children}
        {error !== null ? (
          <FailureLine id={`${id}-note`}>{error}</FailureLine>
        ) : (
          note && (
            <p id={`${id}-note`} className={css.note}>
              {note}
            </p>
          )
        )}
        {differs && <p className={css.was}>was: {textOf(context.before[field])}</p>}
      </div>
    </div>
  );
}

type NumberField = {
  [F in keyof Form]: Form[F] extends string ? F : never;
}[keyof Form];

export function NumberRow({
  field,
  context,
  note,
}: {
  field: NumberField;
  context: RowContext;
  note?: string;
}) {
  return (
    <Row field={field} context={context} note={note}>
      <input
        className={css.number}
        inputMode="decimal"
        value={context.form[field] as string}
        onChange={(event) => context.set(field, event.target.value as never)}
      />
    </Row>
  );
}

interface FoldProps {
  title: string;
  summary: string;
  /** Whether it is open at first, and in view. */
  isOpen?: boolean;
  children: ReactNode;
}

export function Fold({ title, summary, isOpen = false, children }: FoldProps) {
  const fold = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    if (isOpen) fold.current?.scrollIntoView({ block: "center" });
  }, [isOpen]);
  return (
    <details ref={fold} className={css.fold} open={isOpen}>
      <summary>
        <ChevronRight size={16} aria-hidden />
        <strong>{title}</strong>
        <span>{summary}</span>
      </summary>
      <div>{children}</div>
    </details>
  );
}
