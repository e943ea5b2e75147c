/** The form of a new task: the change of the plan that it makes, the tasks that it can name, and what a refusal names. */
import type { GoalSeat, NewTask, PlanRequest, Task, TaskDetails } from "../../api/types";
import { DEFAULT_PRIORITY, formOfTask, linesOf, type TaskForm } from "./task-form";
import { JUDGE } from "./words";

/** The fields have the names of the API. Lists that a person types have one entry a line. */
export interface NewTaskForm extends TaskForm {
  key: string;
  role: string;
  depends_on: string[];
  replaces: string[];
  checks: string[];
  writes: string;
  each: string;
  optional: boolean;
  review: boolean;
}

/** The fields that show a refusal of their own. */
export type NewTaskField = Exclude<keyof NewTaskForm, "optional" | "review">;

const PLANNER = "planner";
const WORKER = "worker";

/** Returns the roles whose seats take tasks. The tasks of the planner are made by Matins. */
export const rolesOf = (seats: readonly Pick<GoalSeat, "role">[]): string[] =>
  [...new Set(seats.map(({ role }) => role))].filter((role) => role !== PLANNER);

/** Returns the names of the checks that a task can name. Each task that writes has `verify` and so on anyway. */
export const offeredChecks = (checks: readonly string[]): string[] =>
  checks.filter((name) => !/^verify(-\d+)?$/.test(name));

export function emptyTask(roles: readonly string[]): NewTaskForm {
  const other = roles.find((role) => role !== JUDGE) ?? roles[0] ?? "";
  return {
    key: "",
    title: "",
    description: "",
    role: roles.includes(WORKER) ? WORKER : other,
    depends_on: [],
    acceptance: "",
    priority: String(DEFAULT_PRIORITY),
    optional: false,
    replaces: [],
    checks: [],
    writes: "",
    review: false,
    each: "",
  };
}

/** Returns the form of a task that replaces another one: the same task with another key. */
export function formReplacing(task: TaskDetails, tasks: readonly Task[]): NewTaskForm {
  return {
    ...formOfTask(task),
    key: freeKey(task.key, tasks),
    role: task.role,
    depends_on: withGroups(task.depends_on, tasks),
    optional: task.optional,
    replaces: [task.key],
    checks: offeredChecks(task.checks),
    writes: task.writes.join("\n"),
    review: task.review,
    each: "",
  };
}

/** The key of the tasks of several items, such as `posts` of `posts/1`. Null for another task. */
const groupOf = (key: string): string | null => (key.includes("/") ? (key.split("/")[0] ?? null) : null);

/** Room for an end such as `-again-12` within the 40 characters of a key. */
const BASE_CHARS = 30;

function freeKey(key: string, tasks: readonly Task[]): string {
  const used = new Set(tasks.flatMap((task) => [task.key, groupOf(task.key)]));
  const base = key
    .replaceAll("/", "-")
    .replace(/-again(-\d+)?$/, "")
    .slice(0, BASE_CHARS);
  let free = `${base}-again`;
  for (let number = 2; used.has(free); number += 1) free = `${base}-again-${number}`;
  return free;
}

/** Returns the groups of several items, each with its tasks. */
function groupsOf(tasks: readonly Task[]): Map<string, Task[]> {
  const groups = new Map<string, Task[]>();
  for (const task of tasks) {
    const group = groupOf(task.key);
    if (group === null) continue;
    const items = groups.get(group);
    if (items) items.push(task);
    else groups.set(group, [task]);
  }
  return groups;
}

/** Names all tasks of a group by its key, because a task can name 20 others. */
function withGroups(keys: readonly string[], tasks: readonly Task[]): string[] {
  const whole = [...groupsOf(tasks)].filter(([, items]) => items.every(({ key }) => keys.includes(key)));
  const named = new Set(whole.map(([group]) => group));
  return [...named, ...keys.filter((key) => !named.has(groupOf(key) ?? ""))];
}

/** A task, or all tasks of a group, that a new task can name. */
export interface TaskChoice {
  key: string;
  /** Null for a group. */
  task: Task | null;
  text: string;
}

const ACCEPTED: Record<"depends_on" | "replaces", readonly Task["status"][]> = {
  // A task behind a cancelled one would be cancelled at once.
  depends_on: ["PENDING", "READY", "RUNNING", "DONE", "FAILED"],
  replaces: ["PENDING", "READY", "RUNNING", "FAILED"],
};

/** Returns the tasks that a field can name, and those that it names although it no longer can. */
export function choicesOf(
  field: keyof typeof ACCEPTED,
  tasks: readonly Task[],
  form: Pick<NewTaskForm, "depends_on" | "replaces">,
): TaskChoice[] {
  const named = form[field];
  const work = tasks.filter(({ kind }) => kind === "work");
  const isAccepted = ({ status }: Task) => ACCEPTED[field].includes(status);
  const groups = groupsOf(work);
  const choices: TaskChoice[] = [];
  for (const task of work) {
    const group = groupOf(task.key);
    const items = group === null ? undefined : groups.get(group);
    if (group !== null && items?.[0] === task && (items.every(isAccepted) || named.includes(group)))
      choices.push({ key: group, task: null, text: `all ${items.length} tasks` });
    if (isAccepted(task) || named.includes(task.key)) choices.push({ key: task.key, task, text: task.title });
  }
  // A task cannot wait for one that it replaces.
  const others = field === "depends_on" ? form.replaces : [];
  return choices.filter(({ key }) => named.includes(key) || !others.includes(key));
}

/** `true` if a task writes nothing, so that one in its place writes nothing either unless its form names paths. */
export const isReading = (replaced: Pick<TaskDetails, "writes"> | null): boolean =>
  replaced?.writes.length === 0;

/**
 * Returns the change of the plan that a form makes. `version` is that of the plan which the person has seen, and `replaced`
 * the task with which the form began.
 */
export function requestOf(
  form: NewTaskForm,
  version: number,
  replaced: Pick<TaskDetails, "writes"> | null,
): PlanRequest {
  const { depends_on, replaces, optional, review } = form;
  const checks = offeredChecks(form.checks);
  const [acceptance, writes, each] = [form.acceptance, form.writes, form.each].map(linesOf);
  const description = form.description.trim();
  const priority = Number(form.priority);
  const lists = { depends_on, acceptance, replaces, checks, writes, each };
  const task: NewTask = {
    key: form.key.trim(),
    title: form.title.trim(),
    role: form.role,
    ...(description !== "" && { description }),
    // Without the field, the server takes the paths of the role, which may be the whole directory.
    ...(isReading(replaced) && { writes: [] }),
    ...Object.fromEntries(Object.entries(lists).filter(([, list]) => list && list.length > 0)),
    ...(priority !== DEFAULT_PRIORITY && { priority }),
    ...(optional && { optional }),
    ...(review && { review }),
  };
  return { plan_version: version, tasks: [task] };
}

const FOLDED: readonly string[] = ["checks", "writes", "each"] satisfies NewTaskField[];

/** `true` for a field that is folded at first. */
export const isFolded = (field: string | null): boolean => field !== null && FOLDED.includes(field);

/** Returns the field of the form that a problem of the API names, such as `tasks[0].role`; null if it has none. */
export function fieldOfProblem(status: number, field: string | null | undefined): NewTaskField | null {
  // A plan that names tasks which are over is a conflict. This one names none but those that it replaces.
  if (status === 409 && field === "tasks") return "replaces";
  const { optional, review, ...fields } = emptyTask([]);
  const name = /^tasks\[0\]\.(\w+)/.exec(field ?? "")?.[1];
  return (Object.keys(fields) as NewTaskField[]).find((each) => each === name) ?? null;
}

/** Says how the tasks have changed since a person has seen them. Empty if only texts have. */
export function changesText(seen: readonly Task[], stored: readonly Task[]): string {
  const before = new Map(seen.map((task) => [task.key, task]));
  const keys = (tasks: readonly Task[]) => tasks.map(({ key }) => key).join(", ");
  const added = stored.filter(({ key, kind }) => kind === "work" && !before.has(key));
  const cancelled = stored.filter(
    ({ key, status }) => status === "CANCELLED" && before.get(key)?.status !== "CANCELLED" && before.has(key),
  );
  return [
    added.length > 0 && `New: ${keys(added)}.`,
    cancelled.length > 0 && `Cancelled: ${keys(cancelled)}.`,
  ]
    .filter(Boolean)
    .join(" ");
}

/** Returns the key of the first task that a form has made. */
export const firstKey = (key: string, tasks: readonly Pick<Task, "key">[]): string | null =>
  tasks.find((task) => task.key === key || task.key === `${key}/1`)?.key ?? null;
