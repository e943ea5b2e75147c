import { useRef, useState } from "react";
import { request } from "../../api/client";
import { ApiProblem, hasStatus } from "../../api/problem";
import type { Goal } from "../../api/types";
import { ActionDialog } from "../../kit/ActionDialog";
import { Button } from "../../kit/Button";
import { Dialog } from "../../kit/Dialog";
import { Callout, errorText, FailureLine } from "../../kit/ErrorState";
import { Field, TextField } from "../../kit/layout";
import { toast } from "../../kit/Toast";
import { unreadField } from "../../kit/unread-field";
import { refetchGoal } from "./actions";
import {
  type EditForm,
  editFieldOfProblem,
  faultOfEdit,
  faultOfEnd,
  formOfGoal,
  isEdited,
  limitLabel,
  limitsInOrder,
  patchOfForm,
  rebased,
} from "./form";
import css from "./goals.module.css";
import { type Failure, LimitFields, unreadFault, useFailureFocus } from "./LimitFields";
import { reachedField, stillReachedText } from "./moves";
import { titleOfGoal } from "./words";

/** Edits the text of a goal, its budget, its end and its limits. It sends only what the person has changed. */
export function EditGoal(props: {
  goal: Goal;
  etag: string | null;
  /** The field that gets the focus; null for the first one. */
  firstField: string | null;
  /** `true` if the goal waits for a higher limit: the form stays until it goes on. */
  raises: boolean;
  onClose(): void;
}) {
  const { firstField, raises, onClose } = props;
  // A refetch must not change the form under a person's hands.
  const [base, setBase] = useState({ goal: props.goal, etag: props.etag });
  const [form, setForm] = useState(() => formOfGoal(props.goal));
  const [theirs, setTheirs] = useState<string[] | null>(null);
  const [failure, setFailure] = useState<Failure<string> | null>(null);
  const [showsLimits, setShowsLimits] = useState(firstField?.startsWith("limits.") ?? false);
  const [leaves, setLeaves] = useState(false);
  const [busy, setBusy] = useState(false);
  const fields = useRef<HTMLFormElement>(null);
  useFailureFocus(fields, failure);
  const patch = patchOfForm(form, base.goal);
  // The value of half a date is empty, so that React sees no change.
  const [unread, setUnread] = useState<string | null>(null);
  const noteUnread = () => setUnread(unreadField(fields.current));
  const isChanged = isEdited(form, base.goal, unread);
  const leave = () => {
    if (busy) return;
    if (isEdited(form, base.goal, unreadField(fields.current))) setLeaves(true);
    else onClose();
  };
  const set = (change: Partial<EditForm>) => {
    setForm((now) => ({ ...now, ...change }));
    setFailure(null);
  };
  const errorOf = (field: string) => (failure?.field === field ? failure.text : null);
  const refuse = (refusal: Failure<string>) => {
    // A failure goes away at the next key, but the limits must not fold under the cursor.
    if (refusal.field?.startsWith("limits.")) setShowsLimits(true);
    setFailure(refusal);
  };
  const save = async () => {
    if (busy) return;
    const fault = faultOfEdit(form) ?? unreadFault(fields.current) ?? faultOfEnd(form, base.goal);
    if (fault !== null) return refuse(fault);
    if (!isChanged) return;
    setBusy(true);
    setFailure(null);
    const path = `/goals/${base.goal.id}`;
    const fail = (error: unknown) => {
      const field = error instanceof ApiProblem ? editFieldOfProblem(error.problem.field) : null;
      refuse({ field, text: errorText(error) });
    };
    // Somebody else has changed the goal: show the differences, and keep what was typed.
    const takeTheirs = async () => {
      const { data, etag } = await request<Goal>("GET", path);
      setTheirs(differencesOf(base.goal, data));
      setForm((now) => rebased(now, base.goal, data));
      setBase({ goal: data, etag });
    };
    try {
      const { data, etag } = await request<Goal>("PATCH", path, {
        body: patch,
        ...(base.etag === null ? {} : { ifMatch: base.etag }),
      });
      const reached = raises ? stillReachedText(data) : null;
      if (reached !== null) {
        setTheirs(null);
        setForm(formOfGoal(data));
        setBase({ goal: data, etag });
        refuse({ field: reachedField(data), text: reached });
        setBusy(false);
        return;
      }
      toast(`${titleOfGoal(base.goal)} is saved`);
      onClose();
      return;
    } catch (error) {
      if (hasStatus(error, 412)) await takeTheirs().catch(fail);
      else fail(error);
    } finally {
      refetchGoal(base.goal.id);
    }
    setBusy(false);
  };
  return (
    <Dialog
      open
      onClose={leave}
      firstField={firstField}
      title="Edit the goal"
      note="Another text makes the planner plan again. What is done stays done."
      foot={
        <>
          <Button disabled={busy} onClick={leave}>
            Cancel
          </Button>
          <Button kind="primary" busy={busy} disabled={!isChanged} onClick={save}>
            {theirs === null ? "Save" : "Save mine"}
          </Button>
        </>
      }
    >
      <form
        ref={fields}
        className={css.editForm}
        noValidate
        onInput={noteUnread}
        onKeyUp={noteUnread}
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        {theirs !== null && (
          <Callout kind="waits" title="It has changed since you opened it.">
            {theirs.length === 0 ? "No field of this form differs." : theirs.join(" ")} Your changes are kept,
            the other fields show what is stored.
          </Callout>
        )}
        <TextField
          label="Goal"
          name="goal"
          rows={5}
          value={form.goal}
          error={errorOf("goal")}
          onChange={(event) => set({ goal: event.target.value })}
        />
        <LimitFields form={form} errorOf={errorOf} onChange={(field, value) => set({ [field]: value })} />
        <details
          className={css.limits}
          open={showsLimits}
          onToggle={(event) => setShowsLimits(event.currentTarget.open)}
        >
          <summary>Limits</summary>
          <div className={css.limitGrid}>
            {limitsInOrder(form.limits).map((name) => (
              <Field
                key={name}
                label={limitLabel(name)}
                name={`limits.${name}`}
                inputMode="numeric"
                value={form.limits[name]}
                error={errorOf(`limits.${name}`)}
                onChange={(event) => set({ limits: { ...form.limits, [name]: event.target.value } })}
              />
            ))}
          </div>
        </details>
        {failure?.field === null && <FailureLine>{failure.text}</FailureLine>}
        <button type="submit" className="visually-hidden" tabIndex={-1} aria-hidden="true">
          Save
        </button>
      </form>
      {leaves && (
        <ActionDialog
          title="Discard your changes?"
          note="The goal stays as it is stored."
          action="Discard"
          dismiss="Keep editing"
          act={async () => onClose()}
          onClose={() => setLeaves(false)}
        />
      )}
    </Dialog>
  );
}

const LABELS = {
  goal: "Goal",
  cost: "Cost",
  currency: "Currency",
  tokens: "Tokens",
  until: "Until",
} as const;

/** Says how another person has changed the fields of the form. */
function differencesOf(before: Goal, after: Goal): string[] {
  const [old, stored] = [formOfGoal(before), formOfGoal(after)];
  const names = Object.keys(LABELS) as (keyof typeof LABELS)[];
  const changed = names.filter((name) => old[name] !== stored[name]);
  const limits = Object.keys(stored.limits).filter((name) => old.limits[name] !== stored.limits[name]);
  return [
    ...changed.map((name) => `${LABELS[name]}: ${stored[name] === "" ? "none" : stored[name]}.`),
    ...limits.map((name) => `${limitLabel(name)}: ${stored.limits[name]}.`),
  ];
}
