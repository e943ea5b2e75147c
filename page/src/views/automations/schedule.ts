/** Schedules in words, and the usual cron expressions as fields of a form. Instants always come from the server. */
import type { Automation, TriggerSpec } from "../../api/types";
import { dayAndTime } from "../../kit/format";

const two = (number: number) => String(number).padStart(2, "0");

const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/** A schedule that the form has fields for. */
export type Simple =
  | { every: "day" | "weekday"; time: string }
  | { every: "week"; day: number; time: string }
  | { every: "hour"; minute: number }
  | { every: "minutes"; minutes: number };

const STEPS = [5, 10, 15, 20, 30];

/** Returns the fields of an expression; null if the form has no fields for it, so that it stays as it was written. */
export function simpleOf(expression: string): Simple | null {
  const fields = expression.trim().split(/\s+/);
  if (fields.length !== 5) return null;
  const [minute, hour, day, month, weekday] = fields as [string, string, string, string, string];
  if (day !== "*" || month !== "*") return null;
  const step = /^\*\/(\d+)$/.exec(minute);
  if (step && hour === "*" && weekday === "*") {
    const minutes = Number(step[1]);
    return STEPS.includes(minutes) ? { every: "minutes", minutes } : null;
  }
  if (!/^\d{1,2}$/.test(minute) || Number(minute) > 59) return null;
  if (hour === "*") return weekday === "*" ? { every: "hour", minute: Number(minute) } : null;
  if (!/^\d{1,2}$/.test(hour) || Number(hour) > 23) return null;
  const time = `${two(Number(hour))}:${two(Number(minute))}`;
  if (weekday === "*") return { every: "day", time };
  if (weekday === "1-5") return { every: "weekday", time };
  return /^[0-6]$/.test(weekday) ? { every: "week", day: Number(weekday), time } : null;
}

export function expressionOf(simple: Simple): string {
  const [hour, minute] = ("time" in simple ? simple.time : "0:0").split(":").map(Number) as [number, number];
  switch (simple.every) {
    case "day":
      return `${minute} ${hour} * * *`;
    case "weekday":
      return `${minute} ${hour} * * 1-5`;
    case "week":
      return `${minute} ${hour} * * ${simple.day}`;
    case "hour":
      return `${simple.minute} * * * *`;
    case "minutes":
      return `*/${simple.minutes} * * * *`;
  }
}

/** An expression such as `0 6-22/2 * * *` in words; null if it is of another kind. */
function hourSteps(expression: string): string | null {
  const found = /^(\d{1,2}) (\*|(\d{1,2})-(\d{1,2}))\/(\d{1,2}) \* \* \*$/.exec(expression.trim());
  if (found === null) return null;
  const [minute, first, last, step] = [found[1], found[3], found[4], found[5]].map(Number) as [
    number,
    number,
    number,
    number,
  ];
  if (found[2] === "*") return `every ${step} h at :${two(minute)}`;
  const end = first + Math.floor((last - first) / step) * step;
  return `every ${step} h, ${two(first)}:${two(minute)} to ${two(end)}:${two(minute)}`;
}

function cronWords(expression: string): string {
  const simple = simpleOf(expression);
  switch (simple?.every) {
    case "day":
      return `daily at ${simple.time}`;
    case "weekday":
      return `weekdays at ${simple.time}`;
    case "week":
      return `${DAYS[simple.day]}s at ${simple.time}`;
    case "hour":
      return `hourly at :${two(simple.minute)}`;
    case "minutes":
      return `every ${simple.minutes} min`;
    default:
      return hourSteps(expression) ?? `cron ${expression}`;
  }
}

/** A trigger in words; null for the manual one, which each automation has. */
export function triggerWords(spec: TriggerSpec): string | null {
  switch (spec.kind) {
    case "cron":
      return cronWords(spec.expression);
    case "every":
      return `every ${spec.period}`;
    case "at":
      return `once, ${dayAndTime(spec.at)}`;
    case "webhook":
      return "on webhook";
    default:
      return null;
  }
}

/** The schedule of an automation in words. Triggers that have fired for the last time are left out. */
export function scheduleOf(automation: Pick<Automation, "triggers">): string {
  const words = automation.triggers
    .filter((trigger) => trigger.done_at === null)
    .map((trigger) => triggerWords(trigger.spec))
    .filter((word) => word !== null);
  return words.length === 0 ? "on demand" : words.join("; ");
}

/** The zones of an automation's schedules. */
export function zonesOf(automation: Pick<Automation, "triggers">): string[] {
  const zones = automation.triggers.flatMap((trigger) => ("zone" in trigger.spec ? [trigger.spec.zone] : []));
  return [...new Set(zones)];
}

export const weekdays = DAYS;
export const steps = STEPS;
