import { useQuery } from "@tanstack/react-query";
import { ChevronRight } from "lucide-react";
import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import { newKey, request } from "../../api/client";
import { ApiProblem, hasStatus } from "../../api/problem";
import { keys, queryClient, useAgents, useInstances, useSessions } from "../../api/queries";
import type { AutomationView } from "../../api/types";
import { Button } from "../../kit/Button";
import { Dialog } from "../../kit/Dialog";
import { Callout, ErrorState, errorText } from "../../kit/ErrorState";
import { plural } from "../../kit/format";
import { EmptyState, Skeleton } from "../../kit/layout";
import { toast } from "../../kit/Toast";
import { type LeaveGuard, useLeaveGuard } from "../../shell/leaving";
import { addressOfAutomation } from "../addresses";
import { titleOf } from "../conversations/names";
import { useFilter } from "../filter";
import { useRefusal } from "../refusal";
import css from "./automations.module.css";
import { EditorPreview } from "./EditorPreview";
import { changed, EMPTY, FieldError, type Form, fieldOf, formOf, requestOf } from "./form";
import { Schedule } from "./Schedule";

const LABELS: Record<keyof Form, string> = {
  name: "Name",
  agent: "Agent",
  prompt: "Ask",
  where: "Where",
  session: "Conversation",
  cwd: "Directory",
  placedOn: "Instance",
  zone: "Zone",
  triggers: "When",
  overlap: "Overlap",
  catchUp: "If the server was off",
  catchUpHours: "Hours late",
  timeoutMinutes: "Minutes a turn",
  silenceMinutes: "Minutes of silence",
  attempts: "Attempts",
  pauseAfter: "Failures in a row",
  dayCost: "Cost a day",
  monthCost: "Cost a month",
  currency: "Currency",
  dayTurns: "Turns a day",
  onUnmatched: "Other requests",
  askMinutes: "Minutes to answer",
  rules: "Rules",
  quietHours: "Quiet hours",
  precheck: "Check before",
};

const draftKey = (name: string | null) => `matins.automation.${name ?? "new"}`;

function readDraft(name: string | null): Form | null {
  try {
    const text = localStorage.getItem(draftKey(name));
    return text === null ? null : { ...EMPTY, ...(JSON.parse(text) as Partial<Form>) };
  } catch {
    return null;
  }
}

interface Stored {
  view: AutomationView;
  etag: string | null;
}

/** The routes `/automations/new` and `/automations/:name/edit`. */
export default function Editor({ params }: { params: { name?: string } }) {
  const { name } = params;
  const stored = useQuery({
    queryKey: [...keys.automations, "edited", name],
    queryFn: async ({ signal }): Promise<Stored> => {
      const path = `/automations/${encodeURIComponent(name ?? "")}`;
      const { data, etag } = await request<AutomationView>("GET", path, { signal });
      return { view: data, etag };
    },
    enabled: name !== undefined,
    // A refetch must not change the form under a person's hands.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  if (name === undefined) return <EditorForm stored={null} />;
  if (stored.data === undefined) {
    return (
      <div className={css.detail}>
        {hasStatus(stored.error, 404) ? (
          <EmptyState
            text={`No automation is called “${name}”.`}
            action={<Link href="/automations">All automations</Link>}
          />
        ) : stored.error ? (
          <ErrorState error={stored.error} onRetry={() => stored.refetch()} />
        ) : (
          <Skeleton rows={8} />
        )}
      </div>
    );
  }
  return <EditorForm key={stored.data.view.id} stored={stored.data} />;
}

function EditorForm({ stored }: { stored: Stored | null }) {
  const [base, setBase] = useState(stored);
  const name = base?.view.name ?? null;
  const agents = useAgents();
  // The one agent needs no choice, so it is no change either.
  const onlyAgent = agents.data?.items.length === 1 ? agents.data.items[0]?.name : undefined;
  const before = base === null ? { ...EMPTY, agent: onlyAgent ?? "" } : formOf(base.view);
  const [restored] = useState(() => readDraft(name));
  const [form, setForm] = useState<Form>(restored ?? before);
  const [problem, setProblem] = useState<{ field: keyof Form | null; text: string; error?: unknown } | null>(
    null,
  );
  const [theirs, setTheirs] = useState<Stored | null>(null);
  const [busy, setBusy] = useState(false);
  const [creation] = useState(newKey);
  const [, navigate] = useLocation();
  const refusal = useRefusal()("automations:write");
  const sessions = useSessions();
  const places = useInstances().data?.items.map((each) => each.name) ?? [];
  const fields = useRef<HTMLFormElement>(null);
  const [opened] = useFilter("open");
  const differs = changed(form, before);
  const guard = useLeaveGuard(differs.length > 0);
  useEffect(() => {
    if (differs.length === 0) localStorage.removeItem(draftKey(name));
    else localStorage.setItem(draftKey(name), JSON.stringify(form));
  }, [form, differs.length, name]);
  useEffect(() => {
    if (onlyAgent !== undefined && base === null)
      setForm((now) => (now.agent === "" ? { ...now, agent: onlyAgent } : now));
  }, [onlyAgent, base]);
  useEffect(() => {
    if (problem?.field == null) return;
    fields.current
      ?.querySelector<HTMLElement>(`[data-field="${problem.field}"] :is(input, textarea, select)`)
      ?.focus();
  }, [problem]);
  const set = <F extends keyof Form>(field: F, value: Form[F]) => {
    setForm((now) => ({ ...now, [field]: value }));
    if (problem?.field === field) setProblem(null);
  };
  const save = async (reset = false) => {
    setProblem(null);
    setBusy(true);
    try {
      const body = requestOf(form, base?.view ?? null);
      const { data } =
        base === null
          ? await request<AutomationView>("POST", "/automations", { body, idempotencyKey: creation })
          : await request<AutomationView>("PUT", `/automations/${base.view.id}`, {
              body,
              query: reset ? { reset: true } : {},
              ...(base.etag === null ? {} : { ifMatch: base.etag }),
            });
      localStorage.removeItem(draftKey(name));
      queryClient.invalidateQueries({ queryKey: keys.automations });
      queryClient.invalidateQueries({ queryKey: keys.overview });
      toast(base === null ? `${data.name} is added` : `${data.name} is saved`);
      guard.release();
      navigate(addressOfAutomation(data.name));
    } catch (error) {
      if (error instanceof FieldError) setProblem({ field: error.field, text: error.message });
      else if (hasStatus(error, 412) && base !== null) {
        const { data, etag } = await request<AutomationView>("GET", `/automations/${base.view.id}`);
        setTheirs({ view: data, etag });
      } else {
        const field = error instanceof ApiProblem ? fieldOf(error.problem.field) : null;
        setProblem({ field, text: errorText(error), error });
      }
    } finally {
      setBusy(false);
    }
  };
  const needsReset =
    problem?.error instanceof ApiProblem &&
    /reset/.test(`${problem.error.problem.detail} ${problem.error.problem.hint}`);
  const context = { form, before, isNew: base === null, problem, set };
  const agent = agents.data?.items.find((each) => each.name === form.agent);
  return (
    <div className={css.editor}>
      <header className={css.editorHead}>
        <nav aria-label="Path">
          <Link href={name === null ? "/automations" : addressOfAutomation(name)}>
            {name ?? "Automations"}
          </Link>
          <ChevronRight size={16} aria-hidden />
          <h1>{name === null ? "New" : "Edit"}</h1>
        </nav>
        <span className={css.space} />
        {base !== null && differs.length > 0 && (
          <span className={css.changes}>{plural(differs.length, "change")}</span>
        )}
        <Button
          kind="plain"
          size="large"
          disabled={differs.length === 0}
          onClick={() => {
            setForm(before);
            setProblem(null);
          }}
        >
          Discard
        </Button>
        <Button
          kind="primary"
          size="large"
          busy={busy}
          refusal={refusal}
          disabled={base !== null && differs.length === 0}
          onClick={() => save()}
        >
          {base === null ? "Add" : "Save"}
        </Button>
      </header>
      <form
        ref={fields}
        className={css.form}
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        {restored !== null && differs.length > 0 && (
          <Callout title="This is your draft.">
            It was not saved. “Discard” goes back to what is stored.
          </Callout>
        )}
        {problem && problem.field === null && (
          <Callout
            kind="failed"
            title="It is not saved."
            action={
              needsReset && <Button onClick={() => save(true)}>Save and begin a new conversation</Button>
            }
          >
            {problem.text}
          </Callout>
        )}
        {problem && problem.field !== null && needsReset && (
          <Callout
            kind="failed"
            title="This needs a new conversation."
            action={<Button onClick={() => save(true)}>Save and begin a new conversation</Button>}
          >
            {problem.text}
          </Callout>
        )}
        {theirs !== null && (
          <Conflict
            mine={form}
            theirs={formOf(theirs.view)}
            onKeep={() => {
              setBase(theirs);
              setTheirs(null);
            }}
            onTake={(field) => set(field, formOf(theirs.view)[field] as never)}
          />
        )}
        <Row field="name" context={context}>
          <input
            value={form.name}
            placeholder={base === null ? "made from the request" : ""}
            onChange={(event) => set("name", event.target.value)}
          />
        </Row>
        <Row
          field="agent"
          context={context}
          note={agent?.signed_in_by ? `signed in by ${agent.signed_in_by}` : agent?.sign_in}
        >
          <select value={form.agent} onChange={(event) => set("agent", event.target.value)}>
            <option value="">
              {form.where === "bound" ? "the one of the conversation" : "Choose an agent"}
            </option>
            {form.agent !== "" && !agent && <option value={form.agent}>{form.agent}</option>}
            {agents.data?.items.map((each) => (
              <option key={each.name} value={each.name}>
                {each.name}
              </option>
            ))}
          </select>
        </Row>
        <Row field="prompt" context={context}>
          <textarea
            rows={4}
            required
            value={form.prompt}
            onChange={(event) => set("prompt", event.target.value)}
          />
        </Row>
        <Row field="where" context={context}>
          <fieldset className={css.where}>
            <legend className="visually-hidden">Where</legend>
            {(
              [
                ["fresh", "A new session for each run", "Remembers nothing from run to run"],
                ["continuous", "One session that remembers", "Each run continues the last"],
                ["bound", "An existing conversation", "Speaks there like a person"],
              ] as const
            ).map(([value, title, note]) => (
              <label key={value}>
                <input
                  type="radio"
                  name="where"
                  checked={form.where === value}
                  onChange={() => set("where", value)}
                />
                <span>{title}</span>
                <small>{note}</small>
              </label>
            ))}
          </fieldset>
        </Row>
        {form.where === "bound" ? (
          <Row field="session" context={context}>
            <select value={form.session} onChange={(event) => set("session", event.target.value)}>
              <option value="">Choose a conversation</option>
              {form.session !== "" &&
                !sessions.data?.items.some((each) => [each.id, each.session_key].includes(form.session)) && (
                  <option value={form.session}>{form.session}</option>
                )}
              {sessions.data?.items.map((each) => (
                <option key={each.id} value={each.session_key === form.session ? form.session : each.id}>
                  {titleOf(each)}
                </option>
              ))}
            </select>
          </Row>
        ) : (
          <Row
            field="cwd"
            context={context}
            note="An absolute path on the server. Empty: a folder of each session."
          >
            <input
              value={form.cwd}
              placeholder="/srv/project"
              onChange={(event) => set("cwd", event.target.value)}
            />
          </Row>
        )}
        {form.where !== "bound" && (form.placedOn !== "" || places.length > 1) && (
          <Row field="placedOn" context={context} note="The turns wait for it while it is offline.">
            <select value={form.placedOn} onChange={(event) => set("placedOn", event.target.value)}>
              <option value="">any</option>
              {form.placedOn !== "" && !places.includes(form.placedOn) && (
                <option value={form.placedOn}>{form.placedOn}</option>
              )}
              {places.map((each) => (
                <option key={each} value={each}>
                  {each}
                </option>
              ))}
            </select>
          </Row>
        )}
        <Row field="triggers" context={context}>
          <Schedule
            triggers={form.triggers}
            zone={form.zone}
            onTriggers={(triggers) => set("triggers", triggers)}
            onZone={(zone) => set("zone", zone)}
          />
        </Row>
        <Fold
          title="Permissions"
          summary={
            form.rules.trim() === ""
              ? "no rule of its own"
              : plural(form.rules.trim().split("\n").length, "rule")
          }
        >
          <Row
            field="rules"
            context={context}
            note="One in a line: allow read, allow execute:git log*, deny execute:*push*"
          >
            <textarea rows={3} value={form.rules} onChange={(event) => set("rules", event.target.value)} />
          </Row>
          <Row field="onUnmatched" context={context}>
            <select
              value={form.onUnmatched}
              onChange={(event) => set("onUnmatched", event.target.value as Form["onUnmatched"])}
            >
              <option value="deny">are denied</option>
              <option value="ask">ask a person</option>
            </select>
          </Row>
          {form.onUnmatched === "ask" && <NumberRow field="askMinutes" context={context} />}
        </Fold>
        <Fold
          title="Limits"
          isOpen={opened === "limits"}
          summary={`${form.timeoutMinutes} min a turn, ${form.attempts} ${form.attempts === "1" ? "attempt" : "attempts"}${form.dayCost ? `, ${form.dayCost} ${form.currency} a day` : ""}${form.monthCost ? `, ${form.monthCost} ${form.currency} a month` : ""}`}
        >
          <NumberRow field="timeoutMinutes" context={context} />
          <NumberRow field="silenceMinutes" context={context} />
          <NumberRow field="attempts" context={context} />
          <NumberRow field="pauseAfter" context={context} note="After so many it pauses itself. 0: never." />
          <NumberRow field="dayCost" context={context} />
          <NumberRow field="monthCost" context={context} />
          <Row field="currency" context={context}>
            <input
              value={form.currency}
              maxLength={3}
              onChange={(event) => set("currency", event.target.value.toUpperCase())}
            />
          </Row>
          <NumberRow field="dayTurns" context={context} />
        </Fold>
        <Fold
          title="Late and overlapping runs"
          summary={
            form.catchUp === "none"
              ? "missed runs stay missed"
              : `${form.catchUp} missed, up to ${form.catchUpHours} h late`
          }
        >
          <Row field="catchUp" context={context}>
            <select
              value={form.catchUp}
              onChange={(event) => set("catchUp", event.target.value as Form["catchUp"])}
            >
              <option value="latest">run the latest missed one</option>
              <option value="all">run each missed one</option>
              <option value="none">do not catch up</option>
            </select>
          </Row>
          <NumberRow field="catchUpHours" context={context} />
          <Row field="overlap" context={context}>
            <select
              value={form.overlap}
              onChange={(event) => set("overlap", event.target.value as Form["overlap"])}
            >
              <option value="">
                {form.where === "fresh" ? "run side by side (default)" : "wait for the run before (default)"}
              </option>
              <option value="queue">wait for the run before</option>
              <option value="skip">skip while a run is at work</option>
              <option value="cancel_running">cancel the run at work</option>
              {form.where === "fresh" && <option value="allow">run side by side</option>}
            </select>
          </Row>
          <Row
            field="quietHours"
            context={context}
            note="Windows of the day, such as 22:00-07:00. Runs in them are skipped."
          >
            <input value={form.quietHours} onChange={(event) => set("quietHours", event.target.value)} />
          </Row>
        </Fold>
        <Fold title="Check before" summary={form.precheck.trim() === "" ? "none" : "a command"}>
          <Row
            field="precheck"
            context={context}
            note="A command on the server that decides whether a turn is taken."
          >
            <input value={form.precheck} onChange={(event) => set("precheck", event.target.value)} />
          </Row>
        </Fold>
        <button type="submit" className="visually-hidden" tabIndex={-1} aria-hidden="true">
          Save
        </button>
      </form>
      <EditorPreview form={form} before={base?.view ?? null} />
      {guard.asks && (
        <LeaveDialog
          guard={guard}
          note={
            name === null
              ? "The new automation is not added yet."
              : `${plural(differs.length, "change")} of ${name} ${differs.length === 1 ? "is" : "are"} not saved.`
          }
          onDiscard={() => localStorage.removeItem(draftKey(name))}
        />
      )}
    </div>
  );
}

/** Asks what becomes of the changes. The draft lies in the browser already, so leaving keeps it. */
function LeaveDialog({ guard, note, onDiscard }: { guard: LeaveGuard; note: string; onDiscard(): void }) {
  const discard = () => {
    onDiscard();
    guard.leave();
  };
  return (
    <Dialog
      open
      onClose={guard.stay}
      title="Leave without saving?"
      note={`${note} This browser can keep the draft.`}
      foot={
        <>
          <Button onClick={guard.stay}>Keep editing</Button>
          <Button onClick={guard.leave}>Leave and keep the draft</Button>
          <Button kind="danger" onClick={discard}>
            Discard
          </Button>
        </>
      }
    />
  );
}

interface Context {
  form: Form;
  before: Form;
  isNew: boolean;
  problem: { field: keyof Form | null; text: string } | null;
  set<F extends keyof Form>(field: F, value: Form[F]): void;
}

/** A value of a field in words, for "was". */
function textOf(value: Form[keyof Form]): string {
  if (typeof value === "string") return value === "" ? "empty" : value;
  return value
    .map((trigger) =>
      "expression" in trigger
        ? trigger.expression
        : "period" in trigger
          ? trigger.period
          : "at" in trigger
            ? trigger.at
            : "webhook",
    )
    .join(", ");
}

function Row(props: {
  field: keyof Form;
  context: Context;
  note?: string | null | undefined;
  children: ReactNode;
}) {
  const { field, context, note, children } = props;
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  const differs =
    !context.isNew && JSON.stringify(context.form[field]) !== JSON.stringify(context.before[field]);
  const error = context.problem?.field === field ? context.problem.text : null;
  useEffect(() => {
    // The label names the first control of the row, whatever it is.
    const control = box.current?.querySelector<HTMLElement>("input:not([type=radio]), textarea, select");
    if (!control) return;
    control.id = `${id}-control`;
    if (error === null) control.removeAttribute("aria-invalid");
    else control.setAttribute("aria-invalid", "true");
    if (error !== null || note) control.setAttribute("aria-describedby", `${id}-note`);
    else control.removeAttribute("aria-describedby");
  });
  return (
    <div className={css.formRow} data-changed={differs} data-field={field}>
      <label htmlFor={`${id}-control`}>{LABELS[field]}</label>
      <div ref={box}>
        {children}
        {error !== null ? (
          <p id={`${id}-note`} className={css.failure} role="alert">
            {error}
          </p>
        ) : (
          note && (
            <p id={`${id}-note`} className={css.note}>
              {note}
            </p>
          )
        )}
        {differs && <p className={css.was}>was: {textOf(context.before[field])}</p>}
      </div>
    </div>
  );
}

type NumberField = {
  [F in keyof Form]: Form[F] extends string ? F : never;
}[keyof Form];

function NumberRow({ field, context, note }: { field: NumberField; context: Context; note?: string }) {
  return (
    <Row field={field} context={context} note={note}>
      <input
        className={css.number}
        inputMode="decimal"
        value={context.form[field] as string}
        onChange={(event) => context.set(field, event.target.value as never)}
      />
    </Row>
  );
}

interface FoldProps {
  title: string;
  summary: string;
  /** Whether it is open at first, and in view. */
  isOpen?: boolean;
  children: ReactNode;
}

function Fold({ title, summary, isOpen = false, children }: FoldProps) {
  const fold = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    if (isOpen) fold.current?.scrollIntoView({ block: "center" });
  }, [isOpen]);
  return (
    <details ref={fold} className={css.fold} open={isOpen}>
      <summary>
        <ChevronRight size={16} aria-hidden />
        <strong>{title}</strong>
        <span>{summary}</span>
      </summary>
      <div>{children}</div>
    </details>
  );
}

/** What another person has stored meanwhile, beside this form, field by field. */
function Conflict(props: { mine: Form; theirs: Form; onKeep(): void; onTake(field: keyof Form): void }) {
  const { mine, theirs, onKeep, onTake } = props;
  const fields = changed(mine, theirs);
  return (
    <section className={css.conflict} role="alert" aria-label="Changed by another person">
      <h2>Another person has changed it since you opened it.</h2>
      {fields.length === 0 && <p>Both versions are the same now.</p>}
      <table>
        <tbody>
          {fields.map((field) => (
            <tr key={field}>
              <th scope="row">{LABELS[field]}</th>
              <td>
                <small>stored</small> {textOf(theirs[field])}
              </td>
              <td>
                <small>yours</small> {textOf(mine[field])}
              </td>
              <td>
                <Button size="small" onClick={() => onTake(field)}>
                  Take the stored one
                </Button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <Button onClick={onKeep}>Go on with this form</Button>
    </section>
  );
}
