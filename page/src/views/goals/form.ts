/** The forms of goals: which requests they make, and which of their fields a problem of the API names. */
import type { Goal, GoalPatch, GoalRequest } from "../../api/types";
import { localInput, shellWord } from "../memory/entries";
import { bringsAgents, TEAMS } from "./teams";

/** The value of the choice of a team that stands for a file. */
export const FROM_FILE = "file";
/** The value of the choice of an agent that stands for those of a team's file. */
export const AGENTS_OF_FILE = "*";

export interface NewGoalForm {
  goal: string;
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
}

export const EMPTY: NewGoalForm = {
  goal: "",
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
};

/** A limit that is written as a number. The server refuses what is none, and names the field. */
const numberOf = (text: string): number => Number(text.trim().replaceAll(/[\s_]/g, ""));

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

/** Returns the agent of a goal among the names of those that can be chosen; null if the team names the agents of its seats. */
export function agentOf(form: NewGoalForm, names: string[]): string | null {
  const team = TEAMS.find((each) => each.name === form.team);
  if (bringsAgents(team) || (form.team === FROM_FILE && form.agent === AGENTS_OF_FILE)) return null;
  return names.find((each) => each === form.agent) ?? names[0] ?? null;
}

/** `agent` is null if the team names the agents of its seats. */
export function requestOfForm(form: NewGoalForm, agent: string | null): GoalRequest {
  const budget = budgetOf(form);
  const verify = commandsOf(form.verify);
  return {
    goal: form.goal.trim(),
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
  };
}

/** Returns the command that makes the same request. A team's file has the name `team.toml` there. */
export function commandOf(form: NewGoalForm, agent: string | null): string {
  const { goal, team, team_file, cwd, budget, until, verify, approve_plan, draft } = requestOfForm(
    form,
    agent,
  );
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
    ...option("budget", cost && `${cost.amount} ${cost.currency}`.trim()),
    ...option("budget", budget?.tokens == null ? null : `${budget.tokens} tokens`),
    ...option("until", until?.replace(".000Z", "Z")),
    ...(verify ?? []).flatMap((command) => option("verify", command)),
    ...(approve_plan ? ["--approve-plan"] : []),
    ...(draft ? ["--draft"] : []),
    ...(isOption ? ["--", text] : []),
  ].join(" ");
}

/** Returns the field of the form that a problem of the API names; null for a field that the form does not have. */
export function fieldOfProblem(field: string | null | undefined): keyof NewGoalForm | null {
  if (field == null) return null;
  if (field.startsWith("team_file")) return "teamText";
  if (field === "budget.cost.currency") return "currency";
  if (field.startsWith("budget.tokens")) return "tokens";
  if (field.startsWith("budget")) return "cost";
  if (field.startsWith("verify")) return "verify";
  if (field === "approve_plan") return "approvePlan";
  if (field === "goal" || field === "team" || field === "agent" || field === "cwd" || field === "until")
    return field;
  return null;
}

export interface EditForm {
  goal: string;
  cost: string;
  currency: string;
  tokens: string;
  until: string;
  limits: Record<string, string>;
}

export function formOfGoal(goal: Goal): EditForm {
  return {
    goal: goal.goal,
    cost: goal.budget?.cost?.amount ?? "",
    currency: goal.budget?.cost?.currency ?? "USD",
    tokens: goal.budget?.tokens == null ? "" : String(goal.budget.tokens),
    until: localInput(goal.until ?? null),
    limits: Object.fromEntries(Object.entries(goal.limits).map(([name, value]) => [name, String(value)])),
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
    // A goal always has an end, so that an empty field changes nothing.
    ...(form.until !== before.until && form.until !== "" && { until: isoOf(form.until) }),
    ...(Object.keys(limits).length > 0 && { limits }),
  };
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

/** The names of limits as labels. A limit of a later server has its name. */
const LIMIT_LABELS: Record<string, string> = {
  plan: "Tasks of one plan",
  tasks: "Tasks in all",
  replans: "Plans after the first",
  rounds: "Rounds of a review",
  equal_rounds: "Equal rounds",
  failed_checks: "Failed checks of the whole",
  idle_turns: "Turns without progress",
  alternating_turns: "Alternating message turns",
  messages: "Messages",
  message_turns: "Message turns",
  turns: "Turns",
  parallel: "Turns at a time",
  hours: "Hours",
  question_hours: "Hours to answer",
  give_up_after_hours: "Hours until a stuck goal fails",
};

export const limitLabel = (name: string): string => LIMIT_LABELS[name] ?? name.replaceAll("_", " ");
