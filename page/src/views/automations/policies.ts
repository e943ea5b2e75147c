/** The policies of an automation in words. */
import type { AutomationView, Budget, Policies } from "../../api/types";
import { count, duration, money } from "../../kit/format";
import { ruleText } from "../approvals/rules";
import { zonesOf } from "./schedule";

const seconds = (number: number): string => duration(number * 1000);

const OVERLAP: Record<AutomationView["overlap"], string> = {
  queue: "wait until the run before has ended",
  skip: "skip while a run is at work",
  cancel_running: "cancel the run at work",
  allow: "run side by side",
};

const CATCH_UP: Record<Policies["catch_up"], string> = {
  none: "missed runs stay missed",
  latest: "run the latest missed one",
  all: "run each missed one",
};

export function overlapText(overlap: AutomationView["overlap"]): string {
  return OVERLAP[overlap];
}

export function catchUpText(policies: Pick<Policies, "catch_up" | "catch_up_window_seconds">): string {
  const words = CATCH_UP[policies.catch_up];
  return policies.catch_up === "none"
    ? words
    : `${words}, up to ${seconds(policies.catch_up_window_seconds)} late`;
}

export function budgetText(budget: Budget): string {
  const parts: string[] = [];
  for (const period of ["run", "day", "month"] as const) {
    const limits = budget[period];
    if (limits.cost != null)
      parts.push(`${money(Number(limits.cost.amount), limits.cost.currency)} a ${period}`);
    if (limits.tokens != null) parts.push(`${count(limits.tokens)} tokens a ${period}`);
    if ("turns" in limits && limits.turns != null) parts.push(`${limits.turns} turns a ${period}`);
    if ("minutes" in limits && limits.minutes != null) parts.push(`${limits.minutes} minutes a ${period}`);
  }
  return parts.length === 0 ? "no limit" : parts.join(", ");
}

export function unmatchedText(policies: Pick<Policies, "on_unmatched" | "ask_seconds">): string {
  return policies.on_unmatched === "ask" ? `asks you, for ${seconds(policies.ask_seconds)}` : "denied";
}

/** The quiet hours with their zones. A webhook has no zone of its own, and runs on demand ignore quiet hours. */
export function quietHoursText({
  policies,
  triggers,
}: Pick<AutomationView, "policies" | "triggers">): string {
  if (policies.quiet_hours.length === 0) return "none";
  const webhook = triggers.some((trigger) => trigger.spec.kind === "webhook") ? ["UTC for webhooks"] : [];
  const zones = [...zonesOf({ triggers }), ...webhook].join(", ") || "not for runs on demand";
  return `${policies.quiet_hours.join(", ")} (${zones})`;
}

/** The rows of the settings: a label, the value in words, and whether it differs from the default. */
export function policyRows(automation: AutomationView): [string, string, boolean][] {
  const { policies } = automation;
  const rules = automation.permissions.map((rule) => `${rule.verdict} ${ruleText(rule)}`);
  return [
    ["Directory", automation.cwd ?? "a folder of each session", automation.cwd !== null],
    ["Overlap", overlapText(automation.overlap), policies.overlap !== null],
    ["If the server was off", catchUpText(policies), policies.catch_up !== "latest"],
    ["Time limit of a turn", seconds(policies.timeout_seconds), false],
    ["Limit of silence", seconds(policies.inactivity_seconds), policies.inactivity_seconds !== 600],
    ["Attempts", String(policies.retry.attempts), policies.retry.attempts !== 3],
    [
      "Pauses itself after",
      policies.pause_after_failures === 0 ? "never" : `${policies.pause_after_failures} failures`,
      policies.pause_after_failures !== 5,
    ],
    ["Budget", budgetText(policies.budget), budgetText(policies.budget) !== "no limit"],
    ["Permission rules", rules.length === 0 ? "none of its own" : rules.join("\n"), rules.length > 0],
    ["Other requests", unmatchedText(policies), policies.on_unmatched !== "deny"],
    ["Quiet hours", quietHoursText(automation), policies.quiet_hours.length > 0],
    ["Check before a turn", policies.precheck?.command.join(" ") ?? "none", policies.precheck != null],
    [
      "Spread",
      policies.jitter_seconds === 0 ? "none" : seconds(policies.jitter_seconds),
      policies.jitter_seconds !== 0,
    ],
  ];
}
