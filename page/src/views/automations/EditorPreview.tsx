import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { request } from "../../api/client";
import { keys } from "../../api/queries";
import type { AutomationRequest, AutomationView, DryRun, Preview } from "../../api/types";
import { Callout, errorText, FailureLine } from "../../kit/ErrorState";
import { dayAndTime, readerZone } from "../../kit/format";
import { visible, visibleLines } from "../../kit/visible";
import { ruleText } from "../approvals/rules";
import { titleOf } from "../conversations/names";
import { useRefusal } from "../refusal";
import css from "./automations.module.css";
import { FieldError, type Form, requestOf, triggerRequests } from "./form";
import { budgetText } from "./policies";

/** A person types; the server is asked when the keys rest. */
const REST_MS = 250;

function useRested<T>(value: T): T {
  const [rested, setRested] = useState(value);
  const text = JSON.stringify(value);
  useEffect(() => {
    const timer = setTimeout(() => setRested(JSON.parse(text) as T), REST_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return rested;
}

/** The next runs and the prompt, as the server computes them. */
export function EditorPreview({ form, before }: { form: Form; before: AutomationView | null }) {
  const timed = triggerRequests(form).filter((trigger) => trigger.kind !== "webhook");
  const windows = form.quietHours.split(",").map((window) => window.trim());
  const asked = {
    triggers: timed,
    zone: form.zone,
    policies: { quiet_hours: windows.filter((window) => window !== "") },
  };
  const rested = useRested(asked);
  const preview = useQuery({
    queryKey: [...keys.automations, "preview", rested],
    queryFn: async ({ signal }) =>
      (await request<Preview>("POST", "/automations/preview", { body: rested, signal })).data,
    enabled: rested.triggers.length > 0,
    placeholderData: keepPreviousData,
    retry: false,
  });
  const stale = preview.isPlaceholderData || JSON.stringify(asked) !== JSON.stringify(rested);
  return (
    <aside className={css.preview} aria-label="Preview" tabIndex={0}>
      <section aria-label="Next runs">
        <header>
          <h2>Next runs</h2>
          <span>from the server, {form.zone}</span>
        </header>
        {timed.length === 0 ? (
          <p className={css.note}>It runs on demand or when a webhook comes.</p>
        ) : preview.error && !stale ? (
          <FailureLine>{errorText(preview.error)}</FailureLine>
        ) : (
          <>
            <ol data-stale={stale || undefined}>
              {preview.data?.upcoming_runs.map((run) => (
                <li key={run.at}>
                  <span>{run.display.replace(` ${form.zone}`, "")}</span>
                  <small>
                    {run.in_quiet_hours
                      ? "skipped: quiet hours"
                      : form.zone === readerZone()
                        ? ""
                        : `yours: ${dayAndTime(run.at)}`}
                  </small>
                </li>
              ))}
            </ol>
            {preview.data?.clock_changes?.map((change) => (
              <Callout key={change.at} kind="waits">
                {change.text}.
              </Callout>
            ))}
          </>
        )}
      </section>
      <WillSend form={form} before={before} />
    </aside>
  );
}

/** Returns the definition of the form; null while a field makes no sense. */
function definitionOf(form: Form, before: AutomationView | null): AutomationRequest | null {
  if (form.prompt.trim() === "" || (form.agent === "" && form.where !== "bound")) return null;
  if (form.where === "bound" && form.session === "") return null;
  try {
    return requestOf(form, before);
  } catch (error) {
    if (error instanceof FieldError) return null;
    throw error;
  }
}

/** What the agent will read, where, and what it may do. */
function WillSend({ form, before }: { form: Form; before: AutomationView | null }) {
  const refusal = useRefusal()("automations:write");
  const rested = useRested(definitionOf(form, before));
  const dry = useQuery({
    queryKey: [...keys.automations, "dry-run", before?.id, rested],
    queryFn: async ({ signal }) => {
      const body = { definition: rested, ...(before === null ? {} : { automation: before.id }) };
      return (await request<DryRun>("POST", "/automations/dry-run", { body, signal })).data;
    },
    enabled: rested !== null && refusal === null,
    placeholderData: keepPreviousData,
    retry: false,
  });
  if (rested === null || dry.data === undefined) return null;
  const { data } = dry;
  const rules = data.permissions.map((rule) => `${rule.verdict} ${ruleText(rule)}`);
  const { budget } = data.usage ?? {};
  return (
    <section
      aria-label="What the agent will read"
      data-stale={dry.isPlaceholderData || dry.isError || undefined}
    >
      <header>
        <h2>What {visible(data.agent)} will read</h2>
        <span>{dayAndTime(data.scheduled_for)}</span>
      </header>
      <pre tabIndex={0}>{visibleLines(data.prompt)}</pre>
      <ul>
        <li>
          {data.session ? `in “${titleOf(data.session)}”` : "a new session"}
          {data.cwd ? ` in ${visible(data.cwd)}` : " in a folder of its own"}
        </li>
        <li>
          {rules.length > 0 && `${rules.join(", ")}; `}
          everything else {data.on_unmatched === "ask" ? "asks you" : "is denied"}
        </li>
        {budget && budgetText(budget) !== "no limit" && <li>budget: {budgetText(budget)}</li>}
      </ul>
    </section>
  );
}
