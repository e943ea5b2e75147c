import { useEffect, useRef, useState } from "react";
import { get, post } from "../../api/client";
import { keyedSender } from "../../api/keyed";
import { ApiProblem, hasStatus } from "../../api/problem";
import { keys, queryClient } from "../../api/queries";
import type { Goal, TaskDetails, TaskList } from "../../api/types";
import { ActionDialog } from "../../kit/ActionDialog";
import { Button } from "../../kit/Button";
import { Dialog } from "../../kit/Dialog";
import { errorText, FailureLine } from "../../kit/ErrorState";
import { ChoiceField, Field, SelectField, TextField } from "../../kit/layout";
import { StatusGlyph } from "../../kit/Status";
import { StoredVersion } from "../../kit/StoredVersion";
import { toast } from "../../kit/Toast";
import { visible } from "../../kit/visible";
import { refetchGoal } from "./actions";
import css from "./goals.module.css";
import { type Failure, useFailureFocus } from "./LimitFields";
import {
  changesText,
  choicesOf,
  emptyTask,
  fieldOfProblem,
  firstKey,
  formReplacing,
  isFolded,
  isReading,
  type NewTaskField,
  type NewTaskForm,
  offeredChecks,
  requestOf,
  rolesOf,
  type TaskChoice,
} from "./new-task-form";
import { PriorityField } from "./PriorityField";
import { JUDGE, stateOfTask } from "./words";

type TextFieldName = "key" | "title" | "role" | "description" | "acceptance" | "priority" | "writes" | "each";
type ListFieldName = Exclude<NewTaskField, TextFieldName>;

/** Adds a task to the plan of a goal, or one that replaces another. If the plan has changed, it keeps what was typed. */
export function NewTask(props: {
  goal: Goal;
  list: TaskList;
  /** The task that the new one replaces, which gives it its texts; null for none. */
  replaced: TaskDetails | null;
  /** Gets the key of the task, or of its first item. */
  onAdded(key: string): void;
  onClose(): void;
}) {
  const { goal, replaced, onAdded, onClose } = props;
  const roles = rolesOf(goal.seats);
  // A refetch must not change the form under a person's hands.
  const [opened] = useState(() => ({
    list: props.list,
    form: replaced === null ? emptyTask(roles) : formReplacing(replaced, props.list.tasks),
  }));
  const [base, setBase] = useState(opened.list);
  const [form, setForm] = useState(opened.form);
  const [failure, setFailure] = useState<Failure<NewTaskField> | null>(null);
  const [showsMore, setShowsMore] = useState(false);
  const [busy, setBusy] = useState(false);
  const [leaves, setLeaves] = useState(false);
  const [sendOnce] = useState(keyedSender);
  const fields = useRef<HTMLFormElement>(null);
  useFailureFocus(fields, failure);
  const { plan_version: version } = base;
  const hasConflict = version !== opened.list.plan_version;
  // biome-ignore lint/correctness/useExhaustiveDependencies: each further version is shown above the form.
  useEffect(() => {
    if (hasConflict) fields.current?.closest("[role=dialog]")?.scrollTo({ top: 0 });
  }, [hasConflict, version]);
  const checks = offeredChecks(Object.keys(goal.checks));
  const set = (change: Partial<NewTaskForm>) => {
    setForm((now) => ({ ...now, ...change }));
    setFailure(null);
  };
  const errorOf = (name: NewTaskField) => (failure?.field === name ? failure.text : null);
  const control = (name: TextFieldName) => ({
    name,
    value: form[name],
    error: errorOf(name),
    onChange: (event: { target: { value: string } }) => set({ [name]: event.target.value }),
  });
  const choice = (name: ListFieldName) => ({
    name,
    value: form[name],
    error: errorOf(name),
    onChange: (value: string[]) => set({ [name]: value }),
  });
  const tick = (name: "optional" | "review", label: string) => (
    <label className={css.tick}>
      <input
        type="checkbox"
        name={name}
        checked={form[name]}
        onChange={(event) => set({ [name]: event.target.checked })}
      />
      {label}
    </label>
  );
  const tasksOf = (name: "depends_on" | "replaces") =>
    choicesOf(name, base.tasks, form).map((each) => ({
      value: each.key,
      label: <ChoiceLabel choice={each} />,
    }));
  const [before, others] = [tasksOf("depends_on"), tasksOf("replaces")];
  const leave = () => {
    if (busy) return;
    if (JSON.stringify(form) === JSON.stringify(opened.form)) onClose();
    else setLeaves(true);
  };
  const add = async () => {
    if (busy) return;
    setBusy(true);
    setFailure(null);
    const path = `/sessions/${goal.id}/tasks`;
    const fail = (error: unknown) => {
      const field = error instanceof ApiProblem ? fieldOfProblem(error.status, error.problem.field) : null;
      // The focus goes to the field, which must not fold under the cursor.
      if (isFolded(field)) setShowsMore(true);
      setFailure({ field, text: errorText(error) });
    };
    // The plan, or a task that the form names, is another one by now: show the tasks as they are.
    const takeTheirs = async (error: unknown) => {
      const theirs = await get<TaskList>(path);
      setBase(theirs);
      if (theirs.plan_version === version) fail(error);
    };
    try {
      const body = requestOf(form, version, replaced);
      const added = await sendOnce(body, (idempotencyKey) => post<TaskList>(path, { body, idempotencyKey }));
      queryClient.setQueryData([...keys.goal(goal.id), "tasks"], added);
      const key = form.key.trim();
      toast(`${key} ${form.replaces.length === 0 ? "is added" : `replaces ${form.replaces.join(", ")}`}`);
      onAdded(firstKey(key, added.tasks) ?? key);
      onClose();
      return;
    } catch (error) {
      if (hasStatus(error, 409)) await takeTheirs(error).catch(fail);
      else fail(error);
    } finally {
      refetchGoal(goal.id);
    }
    setBusy(false);
  };
  const word = replaced === null ? "Add" : "Replace";
  return (
    <Dialog
      open
      onClose={leave}
      title={replaced === null ? "Add a task" : `Replace “${replaced.key}”`}
      note={
        replaced === null
          ? "The other tasks stay as they are."
          : "It is cancelled, and the tasks that wait for it wait for the new one."
      }
      foot={
        <>
          {failure?.field === null && <FailureLine>{failure.text}</FailureLine>}
          <Button disabled={busy} onClick={leave}>
            Cancel
          </Button>
          <Button kind="primary" busy={busy} onClick={add}>
            {word}
          </Button>
        </>
      }
    >
      <form
        ref={fields}
        className={css.editForm}
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void add();
        }}
      >
        {hasConflict && (
          <StoredVersion
            title="The plan has changed since you opened this form."
            note={`${visible(changesText(opened.list.tasks, base.tasks))} What you typed is kept: look at it, then send it again.`.trim()}
          />
        )}
        <Field
          label="Key"
          placeholder="mail-2"
          note="A short name, which other tasks can wait for"
          spellCheck={false}
          autoComplete="off"
          {...control("key")}
        />
        <Field label="Title" autoComplete="off" {...control("title")} />
        <SelectField label="Role" note="Its seats take the task." {...control("role")}>
          {roles.map((role) => (
            <option key={role} value={role}>
              {visible(role)}
            </option>
          ))}
        </SelectField>
        <TextField label="What it asks for" rows={5} {...control("description")} />
        {before.length > 0 && (
          <ChoiceField
            label="Waits for"
            note="It starts once these are done."
            options={before}
            {...choice("depends_on")}
          />
        )}
        <TextField label="Must hold" rows={3} note="One line for each condition" {...control("acceptance")} />
        <PriorityField label="Priority" {...control("priority")} />
        {tick("optional", "Optional: the goal can be done without it")}
        {others.length > 0 && (
          <ChoiceField
            label="Replaces"
            note="These are cancelled, and tasks that wait for them wait for the new one."
            options={others}
            {...choice("replaces")}
          />
        )}
        <details
          className={css.limits}
          open={showsMore}
          onToggle={(event) => setShowsMore(event.currentTarget.open)}
        >
          <summary>More</summary>
          <div className={css.rare}>
            {checks.length > 0 && (
              <ChoiceField
                label="Checks by command"
                note="Matins runs them after the work."
                options={checks.map((name) => ({ value: name, label: <code>{visible(name)}</code> }))}
                {...choice("checks")}
              />
            )}
            {goal.seats.some(({ role }) => role === JUDGE) && tick("review", "The judge reviews its result")}
            <TextField
              label="Writes"
              rows={2}
              className={css.code}
              spellCheck={false}
              note={`One path a line. Empty: ${isReading(replaced) ? "none" : "those of the role"}.`}
              {...control("writes")}
            />
            <TextField
              label="Items"
              rows={2}
              note="One a line. Each makes a task of its own, in whose texts and paths it replaces {item}."
              {...control("each")}
            />
          </div>
        </details>
        <button type="submit" className="visually-hidden" tabIndex={-1} aria-hidden="true">
          {word}
        </button>
      </form>
      {leaves && (
        <ActionDialog
          title="Discard the task?"
          note="The plan stays as it is."
          action="Discard"
          dismiss="Keep editing"
          act={async () => onClose()}
          onClose={() => setLeaves(false)}
        />
      )}
    </Dialog>
  );
}

function ChoiceLabel({ choice: { key, task, text } }: { choice: TaskChoice }) {
  const state = task && stateOfTask(task);
  return (
    <>
      {state && <StatusGlyph look={state.look} title={state.word} />}
      <span className={css.choice}>
        <strong>{visible(key)}</strong> <small>{visible(text)}</small>
      </span>
    </>
  );
}
