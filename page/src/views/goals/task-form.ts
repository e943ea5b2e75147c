/** The form of a task: the edit that it makes, and what remains of it after an edit of another person. */
import type { TaskDetails } from "../../api/types";

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

/** The priority of a task for which nobody has chosen one. */
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

/** Returns the field of the form that a problem of the API names; null if it has none. */
export const fieldOfProblem = (field: string | null | undefined): TaskField | null =>
  FIELDS.find((each) => each === field) ?? null;
