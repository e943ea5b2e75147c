/** The form of the editor, and the request that it makes. */
import type {
  AutomationRequest,
  AutomationView,
  PermissionRule,
  Policies,
  TriggerRequest,
} from "../../api/types";
import { readerZone } from "../../kit/format";
import { ruleText } from "../approvals/rules";
import { expressionOf, type Simple, simpleOf } from "./schedule";

/** One trigger of the form. The texts stay as the person writes them. */
export type FormTrigger =
  | { kind: "cron"; expression: string }
  | { kind: "every"; period: string; anchor: string | null }
  | { kind: "at"; at: string }
  | { kind: "webhook" };

export type Where = "fresh" | "continuous" | "bound";

/** All fields are texts or words, so that the form keeps what a person has written, right or wrong. */
export interface Form {
  name: string;
  agent: string;
  prompt: string;
  where: Where;
  /** The key or the ID of the conversation, if `where` is `bound`. */
  session: string;
  cwd: string;
  /** The name or the ID of an instance. Empty: any. */
  placedOn: string;
  zone: string;
  triggers: FormTrigger[];
  overlap: "" | Exclude<Policies["overlap"], null | undefined>;
  catchUp: Policies["catch_up"];
  catchUpHours: string;
  timeoutMinutes: string;
  silenceMinutes: string;
  attempts: string;
  pauseAfter: string;
  dayCost: string;
  monthCost: string;
  currency: string;
  dayTurns: string;
  onUnmatched: Policies["on_unmatched"];
  askMinutes: string;
  rules: string;
  quietHours: string;
  precheck: string;
}

export const EMPTY: Form = {
  name: "",
  agent: "",
  prompt: "",
  where: "fresh",
  session: "",
  cwd: "",
  placedOn: "",
  zone: readerZone(),
  triggers: [{ kind: "cron", expression: expressionOf({ every: "weekday", time: "09:00" }) }],
  overlap: "",
  catchUp: "latest",
  catchUpHours: "24",
  timeoutMinutes: "30",
  silenceMinutes: "10",
  attempts: "3",
  pauseAfter: "5",
  dayCost: "",
  monthCost: "",
  currency: "USD",
  dayTurns: "",
  onUnmatched: "deny",
  askMinutes: "10",
  rules: "",
  quietHours: "",
  precheck: "",
};

const minutes = (seconds: number): string => String(Math.round((seconds / 60) * 100) / 100);

const lineOf = (rule: PermissionRule): string => `${rule.verdict} ${ruleText(rule)}`;

export function formOf(view: AutomationView): Form {
  const { policies } = view;
  const { budget } = policies;
  const triggers = view.triggers.flatMap((trigger): FormTrigger[] => {
    const { spec } = trigger;
    switch (spec.kind) {
      case "cron":
        return [{ kind: "cron", expression: spec.expression }];
      case "every":
        return [{ kind: "every", period: spec.period, anchor: spec.anchor }];
      case "at":
        return [{ kind: "at", at: spec.at }];
      case "webhook":
        return [{ kind: "webhook" }];
      default:
        return [];
    }
  });
  const zone = view.triggers.flatMap((trigger) => ("zone" in trigger.spec ? [trigger.spec.zone] : []))[0];
  const cost = budget.day.cost ?? budget.month.cost;
  return {
    name: view.name,
    agent: view.agent,
    prompt: view.prompt,
    where: view.session_mode,
    session: view.bound_session_key ?? "",
    cwd: view.cwd ?? "",
    placedOn: view.instance ?? view.placed_on ?? "",
    zone: zone ?? readerZone(),
    triggers,
    overlap: policies.overlap ?? "",
    catchUp: policies.catch_up,
    catchUpHours: String(Math.round((policies.catch_up_window_seconds / 3600) * 100) / 100),
    timeoutMinutes: minutes(policies.timeout_seconds),
    silenceMinutes: minutes(policies.inactivity_seconds),
    attempts: String(policies.retry.attempts),
    pauseAfter: String(policies.pause_after_failures),
    dayCost: budget.day.cost?.amount ?? "",
    monthCost: budget.month.cost?.amount ?? "",
    currency: cost?.currency ?? "USD",
    dayTurns: budget.day.turns == null ? "" : String(budget.day.turns),
    onUnmatched: policies.on_unmatched,
    askMinutes: minutes(policies.ask_seconds),
    rules: view.permissions.map(lineOf).join("\n"),
    quietHours: policies.quiet_hours.join(", "),
    precheck: policies.precheck == null ? "" : JSON.stringify(policies.precheck.command),
  };
}

/** A field that the form itself cannot make sense of. */
export class FieldError extends Error {
  readonly field: keyof Form;

  constructor(field: keyof Form, message: string) {
    super(message);
    this.field = field;
  }
}

function number(form: Form, field: keyof Form, factor = 1): number {
  const text = String(form[field]).trim().replace(",", ".");
  const value = Number(text);
  if (text === "" || !Number.isFinite(value) || value < 0) {
    throw new FieldError(field, `“${text}” is not a number`);
  }
  // What has no unit is a count.
  if (factor === 1 && !Number.isInteger(value)) {
    throw new FieldError(field, `“${text}” is not a whole number`);
  }
  return Math.round(value * factor);
}

const RULE = /^(allow|deny)\s+([^:\s]+)(?::(.+))?$/;

/** Returns the rules. A line of a stored rule that nobody changed is this rule, whatever characters the rule has. */
function rulesOf(form: Form, stored: readonly PermissionRule[]): PermissionRule[] {
  const left = [...stored];
  return form.rules
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((whole) => {
      const index = left.findIndex((rule) => lineOf(rule) === whole);
      const [kept] = index < 0 ? [] : left.splice(index, 1);
      if (kept !== undefined) return kept;
      const line = whole.trim();
      if (line.includes("\\u{")) {
        throw new FieldError(
          "rules",
          `“${line}” is no stored rule, and “\\u{…}” stands for a character that a line cannot have; remove the line`,
        );
      }
      const [, verdict, tool, title] = RULE.exec(line) ?? [];
      if (verdict === undefined || tool === undefined) {
        throw new FieldError(
          "rules",
          `“${line}” is no rule; accepted are lines like “allow execute:git log*”`,
        );
      }
      return { verdict: verdict as "allow" | "deny", tool, title: title ?? null };
    });
}

/** The words of a command: a JSON list, or a line that a shell runs. */
function precheckOf(form: Form, before: Policies["precheck"]) {
  const text = form.precheck.trim();
  if (text === "") return null;
  let command: string[] = ["sh", "-c", text];
  if (text.startsWith("[")) {
    try {
      command = JSON.parse(text) as string[];
    } catch {
      throw new FieldError("precheck", "the list of words is not valid JSON");
    }
  }
  return { command, ...(before == null ? {} : { timeout_seconds: before.timeout_seconds }) };
}

export function triggerRequests(form: Form): TriggerRequest[] {
  return form.triggers.map((trigger): TriggerRequest => {
    switch (trigger.kind) {
      case "cron":
        return { kind: "cron", expression: trigger.expression };
      case "every":
        return {
          kind: "every",
          period: trigger.period,
          ...(trigger.anchor === null ? {} : { anchor: trigger.anchor }),
        };
      case "at":
        return { kind: "at", at: trigger.at };
      default:
        return { kind: "webhook" };
    }
  });
}

/**
 * Makes the request. What the form has no field for keeps its value in `before`.
 *
 * Throws `FieldError` if a field makes no sense. The server checks the rest.
 */
export function requestOf(form: Form, before: AutomationView | null): AutomationRequest {
  const policies = before?.policies;
  const isTimed = form.triggers.some((trigger) => trigger.kind !== "webhook");
  const money = (field: "dayCost" | "monthCost") => {
    const amount = form[field].trim().replace(",", ".");
    return amount === "" ? null : { amount, currency: form.currency };
  };
  const budget = policies?.budget;
  // The types demand each field of a request that has a default. What is absent gets the default of the server.
  const request = {
    name: form.name.trim() === "" ? null : form.name.trim(),
    prompt: form.prompt,
    agent: form.agent === "" ? null : form.agent,
    session: form.where === "bound" ? (form.session === "" ? "bound" : `bound:${form.session}`) : form.where,
    cwd: form.where === "bound" || form.cwd.trim() === "" ? null : form.cwd.trim(),
    placed_on: form.where === "bound" || form.placedOn === "" ? null : form.placedOn,
    // A zone without a schedule is refused.
    zone: isTimed ? form.zone : null,
    triggers: triggerRequests(form),
    policies: {
      ...(policies ?? {}),
      overlap: form.overlap === "" ? null : form.overlap,
      catch_up: form.catchUp,
      catch_up_window_seconds: number(form, "catchUpHours", 3600),
      timeout_seconds: number(form, "timeoutMinutes", 60),
      inactivity_seconds: number(form, "silenceMinutes", 60),
      retry: { ...(policies?.retry ?? {}), attempts: number(form, "attempts") },
      pause_after_failures: number(form, "pauseAfter"),
      budget: {
        run: budget?.run ?? {},
        day: {
          ...(budget?.day ?? {}),
          cost: money("dayCost"),
          turns: form.dayTurns.trim() === "" ? null : number(form, "dayTurns"),
        },
        month: { ...(budget?.month ?? {}), cost: money("monthCost") },
      },
      on_unmatched: form.onUnmatched,
      ask_seconds: number(form, "askMinutes", 60),
      quiet_hours: form.quietHours
        .split(",")
        .map((window) => window.trim())
        .filter((window) => window !== ""),
      precheck: precheckOf(form, policies?.precheck ?? null),
    },
    ...(before === null ? {} : { settings: before.settings }),
    permissions: rulesOf(form, before?.permissions ?? []),
  };
  return request as AutomationRequest;
}

/** The fields of the form whose value differs. */
export function changed(form: Form, before: Form): (keyof Form)[] {
  return (Object.keys(form) as (keyof Form)[]).filter(
    (field) => JSON.stringify(form[field]) !== JSON.stringify(before[field]),
  );
}

/** The field of the form for a field of a request that the server refused. */
export function fieldOf(path: string | null | undefined): keyof Form | null {
  if (path == null) return null;
  const known: [RegExp, keyof Form][] = [
    [/^name$/, "name"],
    [/^prompt$/, "prompt"],
    [/^agent$/, "agent"],
    [/^session$/, "session"],
    [/^cwd$/, "cwd"],
    [/^placed_on$/, "placedOn"],
    [/zone$/, "zone"],
    [/^triggers/, "triggers"],
    [/^permissions/, "rules"],
    [/^policies\.overlap/, "overlap"],
    [/^policies\.catch_up_window/, "catchUpHours"],
    [/^policies\.catch_up/, "catchUp"],
    [/^policies\.timeout/, "timeoutMinutes"],
    [/^policies\.inactivity/, "silenceMinutes"],
    [/^policies\.retry/, "attempts"],
    [/^policies\.pause_after/, "pauseAfter"],
    [/^policies\.budget\.day\.turns/, "dayTurns"],
    [/^policies\.budget\.month/, "monthCost"],
    [/^policies\.budget/, "dayCost"],
    [/^policies\.on_unmatched/, "onUnmatched"],
    [/^policies\.ask/, "askMinutes"],
    [/^policies\.quiet/, "quietHours"],
    [/^policies\.precheck/, "precheck"],
  ];
  return known.find(([pattern]) => pattern.test(path))?.[1] ?? null;
}

/** The first cron expression as fields; null if the form shows it as text. */
export const simple = (trigger: FormTrigger): Simple | null =>
  trigger.kind === "cron" ? simpleOf(trigger.expression) : null;
