/** The forms of goals: which requests they make, and which of their fields a problem of the API names. */
import type { Agent, Goal, GoalPatch, GoalRequest } from "../../api/types";
import { localInput, shellWord } from "../memory/entries";
import { bringsAgents, TEAMS } from "./teams";

/** The value of the choice of a team that stands for a file. */
export const FROM_FILE = "file";
/** The value of the choice of an agent that stands for those of a team's file. */
export const AGENTS_OF_FILE = "*";

export interface NewGoalForm {
  goal: string;
  title: string;
  team: string;
  /** The text of the team's file. */
  teamText: string;
  agent: string;
  cwd: string;
  cost: string;
  currency: string;
  tokens: string;
  /** An instant in the zone of the browser, as its fields write it; empty for the default of the team. */
  until: string;
  verify: string;
  approvePlan: boolean;
  draft: boolean;
  key: string;
  /** The name of the host on which the turns run; empty for any. */
  on: string;
  /** Limits in place of those of the team, by their names. */
  limits: Record<string, string>;
}

/** The controls of the form by their names. Limits are `limits.NAME`. */
export type NewGoalField = Exclude<keyof NewGoalForm, "limits"> | `limits.${string}`;

export const EMPTY: NewGoalForm = {
  goal: "",
  title: "",
  team: "research",
  teamText: "",
  agent: "",
  cwd: "",
  cost: "",
  currency: "USD",
  tokens: "",
  until: "",
  verify: "",
  approvePlan: false,
  draft: false,
  key: "",
  on: "",
  limits: {},
};

/** Returns the form with a limit. An empty one is that of the team. */
export function withLimit(form: NewGoalForm, name: string, value: string): NewGoalForm {
  const { [name]: _, ...others } = form.limits;
  return { ...form, limits: value === "" ? others : { ...others, [name]: value } };
}

/** A limit that is written as a whole number; `NaN` for another text, which no request may have. See `faultOf`. */
function numberOf(text: string): number {
  const digits = text.replaceAll(/[\s_]/g, "");
  const number = /^\d+$/.test(digits) ? Number(digits) : Number.NaN;
  return Number.isSafeInteger(number) ? number : Number.NaN;
}

/** A field of a form that no request can express, and why. */
export interface Fault<F extends string = string> {
  field: F;
  text: string;
}

function faultOfNumber<F extends string>(field: F, text: string, example: number): Fault<F> | null {
  if (!Number.isNaN(numberOf(text))) return null;
  const problem = text.trim() === "" ? "A limit needs a number" : `“${text.trim()}” is no whole number`;
  return { field, text: `${problem}. Accepted are digits, such as ${example}.` };
}

/** Returns the first field of a form that no request can express; null if there is none. The server checks the rest. */
export function faultOf({ tokens }: Pick<NewGoalForm, "tokens">): Fault<"tokens"> | null {
  return tokens.trim() === "" ? null : faultOfNumber("tokens", tokens, 200_000);
}

/** As `faultOf`, for a form with limits. Limits are `limits.NAME`. */
export function faultOfEdit(
  form: Pick<EditForm, "tokens" | "limits">,
): Fault<"tokens" | `limits.${string}`> | null {
  const limits = limitsInOrder(form.limits);
  return (
    faultOf(form) ??
    limits.reduce<Fault<`limits.${string}`> | null>(
      (found, name) => found ?? faultOfNumber(`limits.${name}`, form.limits[name] ?? "", 20),
      null,
    )
  );
}

/** As `faultOf`, for the form of a new goal. A limit of spaces is that of the team, as an empty one is. */
export const faultOfNew = ({ tokens, limits }: Pick<NewGoalForm, "tokens" | "limits">) =>
  faultOfEdit({ tokens, limits: filled(limits) });

/** Returns the limits that are not empty. */
const filled = (limits: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(limits).filter(([, value]) => value.trim() !== ""));

function budgetOf(form: Pick<NewGoalForm, "cost" | "currency" | "tokens">) {
  const cost = form.cost.trim();
  const tokens = form.tokens.trim();
  return {
    ...(cost !== "" && { cost: { amount: cost, currency: form.currency.trim() } }),
    ...(tokens !== "" && { tokens: numberOf(tokens) }),
  };
}

/** Returns a local time as an instant. The server refuses a text that is none, and names the field. */
function isoOf(local: string): string {
  const then = new Date(local);
  return Number.isNaN(then.getTime()) ? local : then.toISOString();
}

/** One command a line. */
const commandsOf = (text: string): string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

/** The name of the demonstration agent, which is always installed and does no real work. */
const DEMO = "demo";

/**
 * Returns the agent of a goal: the chosen one, else the first real one that is installed. Null if the team names the
 * agents of its seats.
 */
export function agentOf(form: NewGoalForm, agents: Pick<Agent, "name" | "program">[]): string | null {
  const team = TEAMS.find((each) => each.name === form.team);
  if (bringsAgents(team) || (form.team === FROM_FILE && form.agent === AGENTS_OF_FILE)) return null;
  const chosen = agents.find(({ name }) => name === form.agent);
  const real = agents.find(({ name, program }) => name !== DEMO && program !== null);
  return (chosen ?? real ?? agents[0])?.name ?? null;
}

/** `agent` is null if the team names the agents of its seats. */
export function requestOfForm(form: NewGoalForm, agent: string | null): GoalRequest {
  const budget = budgetOf(form);
  const verify = commandsOf(form.verify);
  const limits = filled(form.limits);
  const [title, key, on] = [form.title.trim(), form.key.trim(), form.on];
  return {
    goal: form.goal.trim(),
    ...(title !== "" && { title }),
    ...(form.team === FROM_FILE
      ? { team_file: { name: "team.toml", text: form.teamText } }
      : { team: form.team }),
    ...(agent !== null && agent !== "" && { agent }),
    ...(form.cwd.trim() !== "" && { cwd: form.cwd.trim() }),
    ...(Object.keys(budget).length > 0 && { budget }),
    ...(form.until !== "" && { until: isoOf(form.until) }),
    ...(verify.length > 0 && { verify }),
    ...(form.approvePlan && { approve_plan: true }),
    ...(form.draft && { draft: true }),
    ...(key !== "" && { key }),
    ...(on !== "" && { on }),
    ...(Object.keys(limits).length > 0 && {
      limits: Object.fromEntries(limitsInOrder(limits).map((name) => [name, numberOf(limits[name] ?? "")])),
    }),
  };
}

/** Returns the command that makes the same request. A team's file has the name `team.toml` there. */
export function commandOf(form: NewGoalForm, agent: string | null): string {
  const request = requestOfForm(form, agent);
  const { goal, title, team, team_file, cwd, budget, until, verify, approve_plan, draft, key, on } = request;
  // The command would take a value that begins with a hyphen for an option.
  const option = (name: string, value: string | null | undefined): string[] =>
    value == null ? [] : [`--${name}${value.startsWith("-") ? "=" : " "}${shellWord(value)}`];
  const cost = budget?.cost;
  const text = shellWord(goal === "" ? "…" : goal);
  const isOption = goal.startsWith("-");
  return [
    "matins goal start",
    ...(isOption ? [] : [text]),
    ...option("team", team_file ? team_file.name : team),
    ...option("agent", agent === "" ? null : agent),
    ...option("dir", cwd),
    ...option("on", on),
    ...option("budget", cost && `${cost.amount} ${cost.currency}`.trim()),
    ...option("budget", budget?.tokens == null ? null : `${budget.tokens || form.tokens.trim()} tokens`),
    ...option("until", until?.replace(".000Z", "Z")),
    ...(verify ?? []).flatMap((command) => option("verify", command)),
    ...Object.entries(request.limits ?? {}).flatMap(([name, value]) =>
      option("limit", `${name}=${Number.isNaN(value) ? form.limits[name]?.trim() : value}`),
    ),
    ...(approve_plan ? ["--approve-plan"] : []),
    ...(draft ? ["--draft"] : []),
    ...option("title", title),
    ...option("key", key),
    ...(isOption ? ["--", text] : []),
  ].join(" ");
}

/** Returns the field of the form that a problem of the API names; null for a field that the form does not have. */
export function fieldOfProblem(field: string | null | undefined): NewGoalField | null {
  if (field == null) return null;
  if (field.startsWith("limits.") && field.slice("limits.".length) in LIMIT_LABELS)
    return field as `limits.${string}`;
  if (field.startsWith("team_file")) return "teamText";
  if (field === "budget.cost.currency") return "currency";
  if (field.startsWith("budget.tokens")) return "tokens";
  if (field.startsWith("budget")) return "cost";
  if (field.startsWith("verify")) return "verify";
  if (field === "approve_plan") return "approvePlan";
  // A seat of the team, such as `team.seats[0].agent`.
  if (field.startsWith("team.")) return "team";
  return AS_NAMED.find((each) => each === field) ?? null;
}

/** The fields that have the same name in the API. */
const AS_NAMED = ["goal", "title", "team", "agent", "cwd", "until", "key", "on"] as const;

/** The fields that are folded at first. */
export const isRare = (field: string | null): boolean =>
  field === "key" || field === "on" || (field?.startsWith("limits.") ?? false);

export interface EditForm {
  goal: string;
  cost: string;
  currency: string;
  tokens: string;
  until: string;
  /** The limits that an edit can change, by their names. */
  limits: Record<string, string>;
}

/** The limits that a goal keeps from its start on. */
const FIXED = ["hours", "question_hours", "give_up_after_hours"];

export function formOfGoal(goal: Goal): EditForm {
  return {
    goal: goal.goal,
    cost: goal.budget?.cost?.amount ?? "",
    currency: goal.budget?.cost?.currency ?? "USD",
    tokens: goal.budget?.tokens == null ? "" : String(goal.budget.tokens),
    until: localInput(goal.until ?? null),
    limits: Object.fromEntries(
      Object.entries(goal.limits)
        .filter(([name]) => !FIXED.includes(name))
        .map(([name, value]) => [name, String(value)]),
    ),
  };
}

/** Returns what a form changes of a goal. Fields that the person has left alone are absent. */
export function patchOfForm(form: EditForm, goal: Goal): GoalPatch {
  const before = formOfGoal(goal);
  const [cost, currency, tokens] = [form.cost.trim(), form.currency.trim(), form.tokens.trim()];
  const isCostChanged = cost !== before.cost || (cost !== "" && currency !== before.currency);
  // A limit that is null is removed, and the server keeps one that is absent.
  const budget = {
    ...(isCostChanged && { cost: cost === "" ? null : { amount: cost, currency } }),
    ...(tokens !== before.tokens && { tokens: tokens === "" ? null : numberOf(tokens) }),
  };
  const limits = Object.fromEntries(
    Object.entries(form.limits)
      .filter(([name, value]) => value.trim() !== before.limits[name])
      .map(([name, value]) => [name, numberOf(value)]),
  );
  return {
    ...(form.goal.trim() !== before.goal.trim() && { goal: form.goal.trim() }),
    ...(Object.keys(budget).length > 0 && { budget }),
    // A goal always has an end. See `faultOfEnd`.
    ...(form.until !== before.until && form.until !== "" && { until: isoOf(form.until) }),
    ...(Object.keys(limits).length > 0 && { limits }),
  };
}

/** `true` if a form changes a goal, or has a text that a save would refuse. `unread` is a field that the browser cannot read. */
export function isEdited(form: EditForm, goal: Goal, unread: string | null): boolean {
  return (
    unread !== null ||
    form.until !== formOfGoal(goal).until ||
    Object.keys(patchOfForm(form, goal)).length > 0
  );
}

/** Refuses to take the end of a goal away. */
export function faultOfEnd(form: EditForm, goal: Goal): Fault<"until"> | null {
  if (form.until !== "" || formOfGoal(goal).until === "") return null;
  return { field: "until", text: "A goal always has an end. Write another one." };
}

/** Returns the form after another person has changed the goal: what the person has not changed gets the stored values. */
export function rebased(form: EditForm, before: Goal, stored: Goal): EditForm {
  const [old, now] = [formOfGoal(before), formOfGoal(stored)];
  const pick = (mine: string | undefined, was: string | undefined, is: string) =>
    mine === undefined || mine === was ? is : mine;
  return {
    goal: pick(form.goal, old.goal, now.goal),
    cost: pick(form.cost, old.cost, now.cost),
    currency: pick(form.currency, old.currency, now.currency),
    tokens: pick(form.tokens, old.tokens, now.tokens),
    until: pick(form.until, old.until, now.until),
    limits: Object.fromEntries(
      Object.entries(now.limits).map(([name, value]) => [
        name,
        pick(form.limits[name], old.limits[name], value),
      ]),
    ),
  };
}

/** As `fieldOfProblem`, for the form of an edit. Limits are `limits.NAME`. */
export function editFieldOfProblem(field: string | null | undefined): string | null {
  if (field?.startsWith("limits.")) return field;
  const found = fieldOfProblem(field);
  return found === "goal" ||
    found === "cost" ||
    found === "currency" ||
    found === "tokens" ||
    found === "until"
    ? found
    : null;
}

/** The names of limits as labels, those first that people change most. A limit of a later server has its name. */
const LIMIT_LABELS: Record<string, string> = {
  turns: "Turns",
  parallel: "Turns at a time",
  replans: "Plans after the first",
  idle_turns: "Turns without progress",
  failed_checks: "Failed checks of the whole",
  rounds: "Rounds of a review",
  equal_rounds: "Equal rounds",
  tasks: "Tasks in all",
  plan: "Tasks of one plan",
  messages: "Messages",
  message_turns: "Message turns",
  alternating_turns: "Alternating message turns",
  hours: "Hours",
  question_hours: "Hours to answer",
  give_up_after_hours: "Hours until a stuck goal fails",
};

/** The limits that a team can have. */
export const LIMIT_NAMES = Object.keys(LIMIT_LABELS);

export const limitLabel = (name: string): string => LIMIT_LABELS[name] ?? name.replaceAll("_", " ");

/** Returns the names of limits, those first that people change most. */
export function limitsInOrder(limits: Record<string, unknown>): string[] {
  const known = Object.keys(LIMIT_LABELS).filter((name) => name in limits);
  return [...known, ...Object.keys(limits).filter((name) => !(name in LIMIT_LABELS))];
}
