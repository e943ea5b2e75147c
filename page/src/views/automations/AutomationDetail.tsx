import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { ChevronRight, Ellipsis } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { Link, useLocation } from "wouter";
import { get, post } from "../../api/client";
import { hasStatus } from "../../api/problem";
import { keys, queryClient } from "../../api/queries";
import type { AutomationView, BudgetUsage, Page, RunItem, SessionItem } from "../../api/types";
import { ActionDialog } from "../../kit/ActionDialog";
import { Button, ButtonLink, IconButton } from "../../kit/Button";
import { Callout, ErrorState, sentence } from "../../kit/ErrorState";
import {
  briefReason,
  count,
  dayAndTime,
  localTimes,
  longTime,
  money,
  plural,
  readerZone,
} from "../../kit/format";
import { MorePages, NoLines } from "../../kit/List";
import { EmptyState, Panel, Skeleton, Tabs } from "../../kit/layout";
import listCss from "../../kit/list.module.css";
import { Menu } from "../../kit/Menu";
import { OutcomeStrip } from "../../kit/OutcomeStrip";
import { fileTitle, lookOfListedRun, Status, StatusGlyph, waitsAsFile, wordOf } from "../../kit/Status";
import { toast } from "../../kit/Toast";
import { visible } from "../../kit/visible";
import { useKey } from "../../shell/keys";
import { addressOfAutomation, addressOfRun, addressOfSession } from "../addresses";
import {
  addressOfReachedBudget,
  fireAutomation,
  isProposed,
  pauseAutomation,
  resumeAutomation,
} from "../automation-actions";
import { titleOf } from "../conversations/names";
import { useFilter } from "../filter";
import { REMOVED, removedText } from "../instances";
import { useRefusal } from "../refusal";
import { turnTime } from "../runs/words";
import css from "./automations.module.css";
import { DeleteAutomation } from "./DeleteAutomation";
import { policyRows } from "./policies";
import { scheduleOf, zonesOf } from "./schedule";
import { Triggers } from "./Triggers";

const Memory = lazy(() => import("../memory/Memory"));
const Artifacts = lazy(() =>
  import("../artifacts/Artifacts").then((module) => ({ default: module.AutomationArtifacts })),
);

const PAGE = 100;

export const automationKey = (name: string) => [...keys.automations, "one", name] as const;

/** The route `/automations/:name`. */
export default function AutomationDetail({ params }: { params: { name: string } }) {
  const { name } = params;
  const found = useQuery({
    queryKey: automationKey(name),
    queryFn: ({ signal }) => get<AutomationView>(`/automations/${encodeURIComponent(name)}`, {}, signal),
  });
  if (found.data === undefined) {
    return (
      <div className={css.detail}>
        {hasStatus(found.error, 404) ? (
          <EmptyState
            text={`No automation is called “${visible(name)}”.`}
            action={<Link href="/automations">All automations</Link>}
            command="matins automation list"
          />
        ) : found.error ? (
          <ErrorState error={found.error} onRetry={() => found.refetch()} />
        ) : (
          <Skeleton rows={8} />
        )}
      </div>
    );
  }
  return <Detail key={found.data.id} automation={found.data} />;
}

function Detail({ automation }: { automation: AutomationView }) {
  const [tab, setTab] = useFilter("tab");
  const [, navigate] = useLocation();
  const refusalOf = useRefusal();
  const [dialog, setDialog] = useState<"delete" | "reset" | null>(null);
  const [busy, setBusy] = useState(false);
  const refusal = refusalOf("automations:write");
  const paused = automation.state === "paused";
  const edit = () => navigate(`${addressOfAutomation(automation.name)}/edit`);
  useKey("e", edit);
  useKey(
    "p",
    () => refusal === null && (paused ? resumeAutomation(automation) : pauseAutomation(automation)),
  );
  const fire = async () => {
    setBusy(true);
    await fireAutomation(automation);
    setBusy(false);
  };
  const budget = addressOfReachedBudget(automation);
  const session = automation.session;
  const zones = zonesOf(automation).filter((zone) => zone !== readerZone());
  const removed = automation.removed_instance;
  const place = removed != null ? removedText(removed) : (automation.instance ?? REMOVED);
  return (
    <div className={css.detail}>
      <header className={css.title}>
        <nav aria-label="Path">
          <Link href="/automations">Automations</Link>
          <ChevronRight size={16} aria-hidden />
          <h1>{visible(automation.name)}</h1>
        </nav>
        {paused ? <Status look="paused" /> : <span className={css.summary}>active</span>}
        <span className={css.space} />
        {session && automation.session_mode !== "fresh" && (
          <ButtonLink size="large" href={addressOfSession(session.id)}>
            Conversation
          </ButtonLink>
        )}
        <Button size="large" busy={busy} refusal={refusal} onClick={fire}>
          Run now
        </Button>
        {paused ? (
          <Button size="large" refusal={refusal} onClick={() => resumeAutomation(automation)}>
            {isProposed(automation) ? "Accept" : "Resume"}
          </Button>
        ) : (
          <Button size="large" refusal={refusal} onClick={() => pauseAutomation(automation)}>
            Pause
          </Button>
        )}
        <Button size="large" refusal={refusal} onClick={edit}>
          Edit
        </Button>
        <Menu
          trigger={
            <IconButton label="More actions" bordered>
              <Ellipsis size={16} aria-hidden />
            </IconButton>
          }
          items={[
            {
              label: "Reset…",
              refusal:
                refusal ??
                (automation.session_mode === "continuous" ? null : "Only a session that remembers is reset"),
              onSelect: () => setDialog("reset"),
            },
            null,
            { label: "Delete…", danger: true, refusal, onSelect: () => setDialog("delete") },
          ]}
        />
      </header>
      {automation.newer_format != null && (
        <Callout kind="waits" title="A later version of Matins changed this automation.">
          This server does not fire it.
        </Callout>
      )}
      {(automation.attention || (paused && automation.pause_reason)) && (
        <Callout
          kind={automation.attention ? "failed" : "plain"}
          title={
            budget !== null
              ? "Paused: its budget is used up"
              : isProposed(automation)
                ? "Proposed by an agent"
                : paused
                  ? `Paused: ${automation.pause_reason}`
                  : "Needs attention"
          }
          action={
            budget !== null && (
              <ButtonLink size="large" href={budget}>
                Raise budget
              </ButtonLink>
            )
          }
        >
          {localTimes(sentence(automation.attention?.replace(/^paused itself: /, "")))}
          {budget !== null && " Raise the budget or wait until then, and resume it."}
        </Callout>
      )}
      {removed != null && (
        <Callout
          kind="failed"
          title={`Its instance ${removed} was removed.`}
          action={
            <Button refusal={refusal} onClick={edit}>
              Place it elsewhere
            </Button>
          }
        >
          Its runs fail until it is placed on another instance.
        </Callout>
      )}
      <p className={css.summary}>
        {scheduleOf(automation)}
        {zones.length > 0 && ` (${zones.join(", ")})`}, {visible(automation.agent)},{" "}
        {automation.session_mode === "fresh"
          ? "a new session for each run"
          : automation.session_mode === "continuous"
            ? "one session that remembers"
            : `in ${session ? `“${titleOf(session)}”` : visible(automation.bound_session_key ?? "")}`}
        {automation.placed_on != null && `, on ${place}`}
        {automation.made_by != null && (
          <>
            , <Link href={addressOfRun(automation.made_by.run_id)}>made by its agent</Link>
          </>
        )}
        {automation.expires_at != null && `, until ${dayAndTime(automation.expires_at)}`}
      </p>
      <Tabs
        value={tab === "" ? "runs" : tab}
        onChange={(value) => setTab(value === "runs" ? "" : value)}
        tabs={[
          { value: "runs", label: "Runs", content: <RunsTab automation={automation} /> },
          { value: "sessions", label: "Sessions", content: <SessionsTab automation={automation} /> },
          { value: "triggers", label: "Triggers", content: <Triggers automation={automation} /> },
          {
            value: "memory",
            label: "Memory",
            content: (
              <Suspense fallback={<Skeleton rows={4} />}>
                <Memory owner={{ kind: "automation", id: automation.id, name: automation.name }} />
              </Suspense>
            ),
          },
          {
            value: "artifacts",
            label: "Artifacts",
            content: (
              <Suspense fallback={<Skeleton rows={4} />}>
                <Artifacts automation={automation} />
              </Suspense>
            ),
          },
          { value: "usage", label: "Usage", content: <UsageTab automation={automation} /> },
          { value: "settings", label: "Settings", content: <SettingsTab automation={automation} /> },
        ]}
      />
      {dialog === "delete" && (
        <DeleteAutomation
          automation={automation}
          onClose={() => setDialog(null)}
          onDeleted={() => navigate("/automations")}
        />
      )}
      {dialog === "reset" && <ResetDialog automation={automation} onClose={() => setDialog(null)} />}
    </div>
  );
}

function ResetDialog({ automation, onClose }: { automation: AutomationView; onClose(): void }) {
  const reset = async () => {
    await post(`/automations/${automation.id}/reset`);
    queryClient.invalidateQueries({ queryKey: keys.automations });
    toast(`${automation.name}: the next run begins a new conversation`);
  };
  return (
    <ActionDialog
      title={`Reset ${automation.name}?`}
      note="The next run begins a new conversation and remembers nothing of this one. This one stays."
      action="Reset"
      kind="ordinary"
      dismiss="Cancel"
      act={reset}
      onClose={onClose}
    />
  );
}

function RunsTab({ automation }: { automation: AutomationView }) {
  const [only, setOnly] = useFilter("only");
  const status = only === "failures" ? "failed,stalled,missed" : null;
  const queryKey = [...keys.automations, "occurrences", automation.id, status];
  const list = useInfiniteQuery({
    queryKey,
    queryFn: ({ signal, pageParam }) =>
      get<Page<RunItem>>(
        `/automations/${automation.id}/occurrences`,
        { status, after: pageParam, limit: PAGE },
        signal,
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
  });
  const rows = list.data?.pages.flatMap((page) => page.items) ?? [];
  const strip = rows.map((run) => ({ ...run, run_id: run.id, at: run.scheduled_for ?? run.input_at }));
  return (
    <Panel
      title="History"
      aside={
        <>
          <OutcomeStrip outcomes={strip} />
          <label className={css.only}>
            <input
              type="checkbox"
              checked={only === "failures"}
              onChange={(event) => setOnly(event.target.checked ? "failures" : "")}
            />
            Only failures
          </label>
        </>
      }
    >
      <ul className={`${listCss.lines} ${css.history}`}>
        {only === "" &&
          [...automation.upcoming_runs].reverse().map((run) => (
            <li key={run.at} className={css.upcoming}>
              <StatusGlyph look={run.in_quiet_hours ? "skipped" : "queued"} title="due" />
              <time dateTime={run.at} title={run.display}>
                {dayAndTime(run.at)}
              </time>
              <span>{run.in_quiet_hours ? "will be skipped: quiet hours" : "due"}</span>
              <small>{run.display}</small>
            </li>
          ))}
        {only === "" && automation.upcoming_runs.length > 0 && <li className={css.now}>now</li>}
        {rows.map((run) => {
          const at = run.scheduled_for ?? run.input_at;
          const look = lookOfListedRun(run);
          const reason = run.status === "succeeded" ? run.answer : briefReason(run.message ?? run.reason);
          const times = run.occurrences > 1 ? ` ${run.occurrences} times` : "";
          const asFile = waitsAsFile(run);
          const outcome = `${wordOf(look)}${times}${asFile ? ` at ${run.instance_name}` : ""}`;
          return (
            <li key={run.id}>
              <StatusGlyph look={look} title={wordOf(look)} />
              <time dateTime={at} title={longTime(at)}>
                {dayAndTime(at)}
              </time>
              <Link
                className="truncate"
                href={addressOfRun(run.id)}
                title={asFile ? fileTitle(run.instance_name) : undefined}
              >
                {[outcome, reason].filter(Boolean).join(": ")}
              </Link>
              <small className={css.took}>{turnTime(run, Date.now())}</small>
            </li>
          );
        })}
      </ul>
      {list.error && <ErrorState error={list.error} onRetry={() => list.refetch()} />}
      {list.data === undefined && !list.error && <Skeleton rows={6} />}
      {list.data !== undefined && rows.length === 0 && (
        <NoLines>{only === "" ? "It has not run yet." : "No failure."}</NoLines>
      )}
      <MorePages list={list} queryKey={queryKey} />
    </Panel>
  );
}

function SessionsTab({ automation }: { automation: AutomationView }) {
  const queryKey = [...keys.automations, "sessions", automation.id];
  const list = useInfiniteQuery({
    queryKey,
    queryFn: ({ signal, pageParam }) =>
      get<Page<SessionItem>>(
        `/automations/${automation.id}/sessions`,
        { after: pageParam, limit: PAGE },
        signal,
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
  });
  const rows = list.data?.pages.flatMap((page) => page.items) ?? [];
  const { session } = automation;
  if (automation.session_mode === "bound" && session) {
    return (
      <Panel title="Its conversation">
        <ul className={`${listCss.lines} ${css.history}`}>
          <li>
            <Link href={addressOfSession(session.id)}>{titleOf(session)}</Link>
          </li>
        </ul>
      </Panel>
    );
  }
  return (
    <Panel title="Sessions, the newest first">
      {list.error && <ErrorState error={list.error} onRetry={() => list.refetch()} />}
      {list.data === undefined && !list.error && <Skeleton rows={4} />}
      {list.data !== undefined && rows.length === 0 && <NoLines>Its first run begins one.</NoLines>}
      <ul className={`${listCss.lines} ${css.history}`}>
        {rows.map((each) => (
          <li key={each.id}>
            <time dateTime={each.created_at} title={longTime(each.created_at)}>
              {dayAndTime(each.created_at)}
            </time>
            <Link className="truncate" href={addressOfSession(each.id)}>
              {localTimes(titleOf(each))}
            </Link>
            <small>
              {each.id === session?.id ? "the next run continues it" : each.state}
              {each.removed_instance != null && `, on ${removedText(each.removed_instance)}`}
            </small>
          </li>
        ))}
      </ul>
      <MorePages list={list} queryKey={queryKey} />
    </Panel>
  );
}

function UsageTab({ automation }: { automation: AutomationView }) {
  const usage = useQuery({
    queryKey: [...keys.automations, "usage", automation.id],
    queryFn: ({ signal }) => get<BudgetUsage>(`/automations/${automation.id}/usage`, {}, signal),
  });
  if (usage.error) return <ErrorState error={usage.error} onRetry={() => usage.refetch()} />;
  if (usage.data === undefined) return <Skeleton rows={3} />;
  const { budget, day, month } = usage.data;
  const rows = [
    { label: "Today, in UTC", used: day, limit: budget.day },
    { label: "This month, in UTC", used: month, limit: budget.month },
  ];
  return (
    <Panel title="Usage">
      <table className={css.usage}>
        <thead>
          <tr>
            <th scope="col">Period</th>
            <th scope="col">Turns</th>
            <th scope="col">Minutes</th>
            <th scope="col">Tokens</th>
            <th scope="col">Cost</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ label, used, limit }) => (
            <tr key={label}>
              <th scope="row">{label}</th>
              <td>
                {used.turns}
                {limit.turns != null && ` of ${limit.turns}`}
              </td>
              <td>
                {used.minutes}
                {limit.minutes != null && ` of ${limit.minutes}`}
              </td>
              <td>
                {used.tokens > 0 ? count(used.tokens) : used.turns > 0 ? "not reported" : "0"}
                {limit.tokens != null && ` of ${count(limit.tokens)}`}
              </td>
              <td>
                {used.cost.length > 0
                  ? used.cost.map((each) => money(Number(each.amount), each.currency)).join(" + ")
                  : used.turns > 0
                    ? "not reported"
                    : "nothing"}
                {limit.cost != null && ` of ${money(Number(limit.cost.amount), limit.cost.currency)}`}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  );
}

function SettingsTab({ automation }: { automation: AutomationView }) {
  return (
    <>
      <Panel title="Asked in each run">
        <pre className={css.prompt}>{automation.prompt}</pre>
      </Panel>
      <Panel title="Settings">
        <dl className={css.settings}>
          {policyRows(automation).map(([label, value, differs]) => (
            <div key={label}>
              <dt>{label}</dt>
              <dd data-differs={differs}>{value}</dd>
            </div>
          ))}
        </dl>
      </Panel>
      <NoLines>
        {plural(automation.permissions.length, "rule")} of its own. Created {longTime(automation.created_at)}.
      </NoLines>
    </>
  );
}
