/** The form of a task: the edit that it makes, and what remains of it after an edit of another person. */
import type { Task, TaskDetails } from "../../api/types";

type Content = Pick<TaskDetails, "title" | "description" | "acceptance" | "priority">;

/** The fields that an edit changes. The others keep their values. */
export type TaskPatch = Partial<Content>;

export interface TaskForm {
  title: string;
  description: string;
  /** The acceptance lines, one below the other. */
  acceptance: string;
  priority: string;
}

export type TaskField = keyof TaskForm;

/** The priority of a task without a chosen priority. */
export const DEFAULT_PRIORITY = 5;

/** Returns the lines of a field that takes one entry a line. */
export const linesOf = (text: string): string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

const FIELDS: readonly TaskField[] = ["title", "description", "acceptance", "priority"];

export const formOfTask = ({ title, description, acceptance, priority }: Content): TaskForm => ({
  title,
  description,
  // A line break would make two of one.
  acceptance: acceptance.map((line) => line.replace(/\s*\n\s*/g, " ")).join("\n"),
  priority: String(priority),
});

export const differingFields = (form: TaskForm, other: TaskForm): TaskField[] =>
  FIELDS.filter((field) => form[field] !== other[field]);

/** Returns the edit that a form makes of the version of a task that the person has seen. */
export function patchOfForm(form: TaskForm, seen: Content): TaskPatch {
  const content: Content = {
    title: form.title.trim(),
    description: form.description.trim(),
    acceptance: linesOf(form.acceptance),
    priority: Number(form.priority),
  };
  const changed = differingFields(form, formOfTask(seen));
  return Object.fromEntries(changed.map((field) => [field, content[field]]));
}

/** Returns the form after another person has edited the task: what the person has not changed gets the stored values. */
export function rebased(form: TaskForm, seen: TaskForm, stored: TaskForm): TaskForm {
  const mine = differingFields(form, seen);
  return { ...stored, ...Object.fromEntries(mine.map((field) => [field, form[field]])) };
}

/** `true` for a task whose text a person can edit: it has not begun, or has failed. */
export const isOpen = ({ status }: Pick<Task, "status">): boolean =>
  status === "PENDING" || status === "READY" || status === "FAILED";

/** A button of the form: it saves the changes, retries the failed task, or does both. */
export interface TaskAction {
  name: "save" | "retry";
  label: string;
  saves: boolean;
  enabled: boolean;
}

/** Returns the buttons for the stored version of a task. `hasConflict` is `true` if it is another one than the opened. */
export function actionsOf(
  task: Pick<Task, "status">,
  { isChanged, hasConflict }: { isChanged: boolean; hasConflict: boolean },
): TaskAction[] {
  if (!isOpen(task)) return [];
  const word = hasConflict ? "Save mine" : "Save";
  const save: TaskAction = { name: "save", label: word, saves: true, enabled: isChanged };
  if (task.status !== "FAILED") return [save];
  // Another person has saved the same, so that nothing is left but to retry.
  const retries = hasConflict && !isChanged;
  return [
    save,
    {
      name: "retry",
      label: retries ? "Retry" : `${word} and retry`,
      saves: !retries,
      enabled: isChanged || retries,
    },
  ];
}

/** Returns the field of the form that a problem of the API names; null if it has none. */
export const fieldOfProblem = (field: string | null | undefined): TaskField | null =>
  FIELDS.find((each) => each === field) ?? null;
