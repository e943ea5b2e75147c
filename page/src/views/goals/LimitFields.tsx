/** The parts that the forms of goals share. */
import { type RefObject, useEffect } from "react";
import { readerZone } from "../../kit/format";
import { Field } from "../../kit/layout";
import { unreadField } from "../../kit/unread-field";
import type { Fault, NewGoalForm } from "./form";
import css from "./goals.module.css";

/** The refusal of a form: of one of its fields, or of the whole if `field` is null. */
export interface Failure<F extends string> {
  field: F | null;
  text: string;
}

/** Gives the focus to the field that a refusal names. */
export function useFailureFocus(
  form: RefObject<HTMLFormElement | null>,
  failure: Failure<string> | null,
): void {
  useEffect(() => {
    if (failure?.field == null) return;
    const named = [...(form.current?.querySelectorAll<HTMLElement>("[name]") ?? [])];
    named.find((each) => each.getAttribute("name") === failure.field)?.focus();
  }, [form, failure]);
}

/** Refuses a part of a date, which would mean no date. */
export const unreadFault = (form: HTMLFormElement | null): Fault<"until"> | null =>
  unreadField(form) === "until" ? { field: "until", text: "The date or the time is incomplete." } : null;

type Limits = Pick<NewGoalForm, "cost" | "currency" | "tokens" | "until">;

/** The budget of a goal and the end of its time. */
export function LimitFields(props: {
  form: Limits;
  /** Says what an empty end means. */
  emptyUntil?: string;
  errorOf(field: keyof Limits): string | null;
  onChange(field: keyof Limits, value: string): void;
}) {
  const { form, emptyUntil, errorOf, onChange } = props;
  const control = (name: keyof Limits) => ({
    name,
    value: form[name],
    error: errorOf(name),
    onChange: (event: { target: { value: string } }) => onChange(name, event.target.value),
  });
  return (
    <>
      <div className={css.triple}>
        <Field label="Cost at most" inputMode="decimal" placeholder="no limit" {...control("cost")} />
        <Field label="Currency" {...control("currency")} />
        <Field label="Tokens at most" inputMode="numeric" placeholder="no limit" {...control("tokens")} />
      </div>
      <Field
        label="Until"
        type="datetime-local"
        note={["No further turn starts then.", emptyUntil, `In ${readerZone()}`].filter(Boolean).join(" ")}
        {...control("until")}
      />
    </>
  );
}
