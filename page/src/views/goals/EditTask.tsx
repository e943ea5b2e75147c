import { useEffect, useRef, useState } from "react";
import { request } from "../../api/client";
import { ApiProblem, hasStatus } from "../../api/problem";
import type { TaskDetails } from "../../api/types";
import { ActionDialog } from "../../kit/ActionDialog";
import { Button } from "../../kit/Button";
import { Dialog } from "../../kit/Dialog";
import { errorText, FailureLine } from "../../kit/ErrorState";
import { Field, TextField } from "../../kit/layout";
import { StoredVersion } from "../../kit/StoredVersion";
import { toast } from "../../kit/Toast";
import { visibleLines } from "../../kit/visible";
import { moveTask, refetchGoal } from "./actions";
import css from "./goals.module.css";
import { type Failure, useFailureFocus } from "./LimitFields";
import { PriorityField } from "./PriorityField";
import {
  actionsOf,
  differingFields,
  fieldOfProblem,
  formOfTask,
  isOpen,
  patchOfForm,
  rebased,
  type TaskAction,
  type TaskField,
  type TaskForm,
} from "./task-form";

const LABELS: Record<TaskField, string> = {
  title: "Title",
  description: "What it asks for",
  acceptance: "Must hold",
  priority: "Priority",
};

/** A task as a person has seen it. */
interface StoredTask {
  task: TaskDetails;
  etag: string | null;
}

export async function readTask(id: string, signal?: AbortSignal): Promise<StoredTask> {
  const { data, etag } = await request<TaskDetails>("GET", `/tasks/${id}`, signal ? { signal } : {});
  return { task: data, etag };
}

/** Edits a task that has not begun, or has failed. If another person was faster, it shows the stored version beside the form. */
export function EditTask(props: { stored: StoredTask; onClose(): void }) {
  const { onClose } = props;
  // A refetch must not change the form under a person's hands.
  const [opened] = useState(props.stored);
  const [base, setBase] = useState(opened);
  const [form, setForm] = useState(() => formOfTask(opened.task));
  const [failure, setFailure] = useState<Failure<TaskField> | null>(null);
  const [busy, setBusy] = useState<TaskAction["name"] | null>(null);
  const [leaves, setLeaves] = useState(false);
  const fields = useRef<HTMLFormElement>(null);
  useFailureFocus(fields, failure);
  const { id, key, goal_id } = opened.task;
  const stored = formOfTask(base.task);
  const differing = differingFields(form, stored);
  const isChanged = differing.length > 0;
  const hasConflict = base !== opened;
  const isSame = differingFields(stored, formOfTask(opened.task)).length === 0;
  const mayEdit = isOpen(base.task);
  const hasFailed = base.task.status === "FAILED";
  const actions = actionsOf(base.task, { isChanged, hasConflict });
  useEffect(() => {
    if (base !== opened) fields.current?.closest("[role=dialog]")?.scrollTo({ top: 0 });
  }, [base, opened]);
  const set = (change: Partial<TaskForm>) => {
    setForm((now) => ({ ...now, ...change }));
    setFailure(null);
  };
  const control = (name: TaskField) => ({
    label: LABELS[name],
    name,
    value: form[name],
    error: failure?.field === name ? failure.text : null,
    onChange: (event: { target: { value: string } }) => set({ [name]: event.target.value }),
  });
  const leave = () => {
    if (busy !== null) return;
    if (isChanged) setLeaves(true);
    else onClose();
  };
  const act = async (action: TaskAction | undefined) => {
    if (busy !== null || !action?.enabled) return;
    const { name, saves } = action;
    setBusy(name);
    setFailure(null);
    const fail = (error: unknown) => {
      const field = error instanceof ApiProblem ? fieldOfProblem(error.problem.field) : null;
      setFailure({ field, text: errorText(error) });
    };
    // Another person has changed the task or its plan: show the differences, and keep what was typed.
    const takeTheirs = async () => {
      const theirs = await readTask(id);
      setForm((now) => rebased(now, stored, formOfTask(theirs.task)));
      setBase(theirs);
    };
    try {
      if (saves)
        await request<TaskDetails>("PATCH", `/tasks/${id}`, {
          body: patchOfForm(form, base.task),
          ...(base.etag === null ? {} : { ifMatch: base.etag }),
        });
      else await moveTask(base.task, "retry", "");
    } catch (error) {
      if (hasStatus(error, 412)) await takeTheirs().catch(fail);
      else fail(error);
      setBusy(null);
      return;
    } finally {
      refetchGoal(goal_id);
    }
    try {
      if (saves && name === "retry") await moveTask(base.task, "retry", "");
      toast(`${key} is ${saves ? (name === "retry" ? "saved and retried" : "saved") : "retried"}`);
    } catch (error) {
      toast(`${key} is saved, but not retried. ${errorText(error)}`);
    }
    onClose();
  };
  return (
    <Dialog
      open
      onClose={leave}
      title={`Edit “${key}”`}
      note={
        hasFailed
          ? "It stays failed until you retry it."
          : mayEdit
            ? "Its agent gets the new text once the task begins."
            : undefined
      }
      foot={
        <>
          <Button disabled={busy !== null} onClick={leave}>
            Cancel
          </Button>
          {actions.map((action, index) => (
            <Button
              key={action.name}
              kind={index === actions.length - 1 ? "primary" : "ordinary"}
              busy={busy === action.name}
              disabled={!action.enabled || busy !== null}
              onClick={() => act(action)}
            >
              {action.label}
            </Button>
          ))}
        </>
      }
    >
      <form
        ref={fields}
        className={css.editForm}
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void act(actions[0]);
        }}
      >
        {hasConflict && (
          <StoredVersion
            title={`${isSame ? "The plan" : "It"} has changed since you opened it.`}
            note={
              !mayEdit
                ? "The task has begun or is over, so that it cannot be edited any more."
                : isSame
                  ? "The text of this task has not. Your changes are kept."
                  : isChanged
                    ? "Your changes are kept below. The other fields show what is stored."
                    : "Both are the same now."
            }
            fields={(isSame || !mayEdit ? [] : differing).map((name) => ({
              name,
              label: LABELS[name],
              value: stored[name] === "" ? "none" : <pre>{visibleLines(stored[name])}</pre>,
            }))}
            onTake={(name) => set({ [name]: stored[name] })}
          />
        )}
        <Field {...control("title")} />
        <TextField rows={8} {...control("description")} />
        <TextField rows={4} note="One line for each condition" {...control("acceptance")} />
        <PriorityField {...control("priority")} />
        {failure?.field === null && <FailureLine>{failure.text}</FailureLine>}
        <button type="submit" className="visually-hidden" tabIndex={-1} aria-hidden="true">
          Save
        </button>
      </form>
      {leaves && (
        <ActionDialog
          title="Discard your changes?"
          note="The task stays as it is stored."
          action="Discard"
          dismiss="Keep editing"
          act={async () => onClose()}
          onClose={() => setLeaves(false)}
        />
      )}
    </Dialog>
  );
}
