import { Plus, Webhook } from "lucide-react";
import { useState } from "react";
import { Button, IconButton } from "../../kit/Button";
import css from "./automations.module.css";
import { type FormTrigger, simple } from "./form";
import { expressionOf, type Simple, steps, weekdays } from "./schedule";

const KINDS = [
  { value: "day", label: "Daily" },
  { value: "weekday", label: "Weekdays" },
  { value: "week", label: "Weekly" },
  { value: "hour", label: "Hourly" },
  { value: "minutes", label: "Every few minutes" },
  { value: "every", label: "At equal distances" },
  { value: "at", label: "Once" },
  { value: "cron", label: "Cron expression" },
] as const;

type Kind = (typeof KINDS)[number]["value"] | "webhook";

function kindOf(trigger: FormTrigger): Kind {
  if (trigger.kind !== "cron") return trigger.kind;
  return simple(trigger)?.every ?? "cron";
}

/** Makes a trigger of another kind, with the time that the present one has. */
function withKind(kind: Kind, before: FormTrigger): FormTrigger {
  const fields = simple(before);
  const time = fields && "time" in fields ? fields.time : "09:00";
  const of = (next: Simple): FormTrigger => ({ kind: "cron", expression: expressionOf(next) });
  switch (kind) {
    case "day":
    case "weekday":
      return of({ every: kind, time });
    case "week":
      return of({ every: "week", day: 1, time });
    case "hour":
      return of({ every: "hour", minute: 0 });
    case "minutes":
      return of({ every: "minutes", minutes: 15 });
    case "every":
      return { kind: "every", period: "2h", anchor: null };
    case "at":
      return { kind: "at", at: "" };
    case "webhook":
      return { kind: "webhook" };
    default:
      return { kind: "cron", expression: before.kind === "cron" ? before.expression : "" };
  }
}

export interface ScheduleProps {
  triggers: FormTrigger[];
  zone: string;
  onTriggers(triggers: FormTrigger[]): void;
  onZone(zone: string): void;
}

/** The triggers of the form. An expression that the fields cannot hold stays as text. */
export function Schedule({ triggers, zone, onTriggers, onZone }: ScheduleProps) {
  const [raw, setRaw] = useState<ReadonlySet<number>>(new Set());
  const change = (index: number, trigger: FormTrigger) =>
    onTriggers(triggers.map((each, at) => (at === index ? trigger : each)));
  return (
    <div className={css.schedule}>
      {triggers.map((trigger, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a trigger of the form has no identity but its place.
        <div key={index} className={css.when}>
          {trigger.kind === "webhook" ? (
            <span className={css.webhook}>
              <Webhook size={16} aria-hidden /> on webhook; the address and the secret are shown once it is
              added
            </span>
          ) : (
            <>
              <select
                aria-label="When"
                value={raw.has(index) ? "cron" : kindOf(trigger)}
                onChange={(event) => {
                  const kind = event.target.value as Kind;
                  const next = new Set(raw);
                  if (kind === "cron") next.add(index);
                  else next.delete(index);
                  setRaw(next);
                  change(index, withKind(kind, trigger));
                }}
              >
                {KINDS.map((each) => (
                  <option key={each.value} value={each.value}>
                    {each.label}
                  </option>
                ))}
              </select>
              <Fields trigger={trigger} raw={raw.has(index)} onChange={(next) => change(index, next)} />
            </>
          )}
          <IconButton
            label="Remove this trigger"
            onClick={() => onTriggers(triggers.filter((_, at) => at !== index))}
          >
            ✕
          </IconButton>
        </div>
      ))}
      {triggers.length === 0 && <p className={css.note}>It runs on demand only.</p>}
      <div className={css.when}>
        <Button
          size="small"
          onClick={() => onTriggers([...triggers, { kind: "cron", expression: "0 9 * * 1-5" }])}
        >
          <Plus size={16} aria-hidden /> Time
        </Button>
        <Button size="small" onClick={() => onTriggers([...triggers, { kind: "webhook" }])}>
          <Webhook size={16} aria-hidden /> Webhook
        </Button>
        <Zone zone={zone} onZone={onZone} />
      </div>
    </div>
  );
}

function Fields(props: { trigger: FormTrigger; raw: boolean; onChange(trigger: FormTrigger): void }) {
  const { trigger, raw, onChange } = props;
  const fields = raw ? null : simple(trigger);
  const set = (next: Simple) => onChange({ kind: "cron", expression: expressionOf(next) });
  if (trigger.kind === "every") {
    return (
      <input
        aria-label="Distance"
        className={css.number}
        value={trigger.period}
        placeholder="1h30m"
        onChange={(event) => onChange({ ...trigger, period: event.target.value, anchor: null })}
      />
    );
  }
  if (trigger.kind === "at") {
    return (
      <input
        aria-label="Date and time"
        value={trigger.at}
        placeholder="2026-12-24 09:00"
        onChange={(event) => onChange({ kind: "at", at: event.target.value })}
      />
    );
  }
  if (trigger.kind !== "cron") return null;
  return (
    <>
      {fields?.every === "week" && (
        <select
          aria-label="Day"
          value={fields.day}
          onChange={(event) => set({ ...fields, day: Number(event.target.value) })}
        >
          {weekdays.map((day, index) => (
            <option key={day} value={index}>
              {day}
            </option>
          ))}
        </select>
      )}
      {fields && "time" in fields && (
        <input
          type="time"
          aria-label="Time"
          value={fields.time}
          onChange={(event) => event.target.value !== "" && set({ ...fields, time: event.target.value })}
        />
      )}
      {fields?.every === "hour" && (
        <input
          type="number"
          aria-label="Minute"
          min={0}
          max={59}
          value={fields.minute}
          onChange={(event) =>
            set({ every: "hour", minute: Math.min(59, Math.max(0, Number(event.target.value))) })
          }
        />
      )}
      {fields?.every === "minutes" && (
        <select
          aria-label="Minutes"
          value={fields.minutes}
          onChange={(event) => set({ every: "minutes", minutes: Number(event.target.value) })}
        >
          {steps.map((minutes) => (
            <option key={minutes} value={minutes}>
              {minutes} min
            </option>
          ))}
        </select>
      )}
      {fields ? (
        <code className={css.cron}>{trigger.expression}</code>
      ) : (
        <input
          aria-label="Cron expression"
          value={trigger.expression}
          placeholder="0 9 * * 1-5"
          spellCheck={false}
          onChange={(event) => onChange({ kind: "cron", expression: event.target.value })}
        />
      )}
    </>
  );
}

function Zone({ zone, onZone }: { zone: string; onZone(zone: string): void }) {
  const zones = [...new Set([zone, "UTC", ...Intl.supportedValuesOf("timeZone")])];
  return (
    <select aria-label="Time zone" value={zone} onChange={(event) => onZone(event.target.value)}>
      {zones.map((each) => (
        <option key={each} value={each}>
          {each}
        </option>
      ))}
    </select>
  );
}
