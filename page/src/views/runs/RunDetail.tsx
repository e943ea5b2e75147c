import { useQuery } from "@tanstack/react-query";
import { ChevronRight } from "lucide-react";
import { lazy, type ReactNode, Suspense, useEffect, useState } from "react";
import { Link, useLocation } from "wouter";
import { get } from "../../api/client";
import { hasStatus } from "../../api/problem";
import { keys, usePermission } from "../../api/queries";
import type { Approval, Message, Messages, Page, Run, RunRecordView, RunView } from "../../api/types";
import { Button, ButtonLink } from "../../kit/Button";
import { Callout, ErrorState, sentence } from "../../kit/ErrorState";
import { callerName, clockWithSeconds, longTime, plural, shortId } from "../../kit/format";
import { EmptyState, Panel, Skeleton } from "../../kit/layout";
import listCss from "../../kit/list.module.css";
import { fileTitle, lookOfRun, Status, StatusGlyph, waitsAsFile, wordOf } from "../../kit/Status";
import { useNow } from "../../kit/Time";
import { visible } from "../../kit/visible";
import { addressOfAutomation, addressOfGoal, addressOfRun, addressOfSession } from "../addresses";
import { Markdown } from "../conversations/Markdown";
import { usageText } from "../conversations/usage";
import { useInstanceOfRun } from "../instances";
import { useRefusal } from "../refusal";
import { cancelRun, retryRun } from "../run-actions";
import { followText, type TextPiece } from "./live-text";
import css from "./runs.module.css";
import { phasesOf } from "./waterfall";
import { adviceOf, blockedText, canRetry, deliveryText, goalOf, isOpen, originOf, subjectOf } from "./words";

const RunArtifacts = lazy(() => import("../artifacts/Artifacts"));

/** A running turn writes without events of the tenant's feed. */
const LIVE_MS = 1_000;

export default function RunDetail({ id }: { id: string }) {
  const run = useQuery({
    queryKey: [...keys.runs, "one", id],
    queryFn: ({ signal }) => get<RunView>(`/runs/${id}`, {}, signal),
  });
  if (run.data === undefined) {
    return (
      <div className={css.detail}>
        {hasStatus(run.error, 404) ? (
          <EmptyState
            text="There is no such run."
            action={<Link href="/runs">All runs</Link>}
            command="matins run list"
          />
        ) : run.error ? (
          <ErrorState error={run.error} onRetry={() => run.refetch()} />
        ) : (
          <Skeleton rows={8} />
        )}
      </div>
    );
  }
  return <Detail run={run.data} />;
}

function Detail({ run }: { run: RunView }) {
  const refusal = useRefusal();
  const may = usePermission();
  const [, navigate] = useLocation();
  const [busy, setBusy] = useState(false);
  const name = subjectOf(run);
  const waits = run.blocked_on?.for === "approval" || run.blocked_on?.for === "answer";
  const look = waits ? "waits" : lookOfRun(run);
  const reason = run.message ?? run.reason;
  const advice = adviceOf(run, run.agent_name ?? null);
  const last = run.attempts.at(-1);
  const goal = goalOf(run);
  const retry = async () => {
    setBusy(true);
    const next = await retryRun(run.id, name);
    setBusy(false);
    if (next) navigate(addressOfRun(next.id));
  };
  return (
    <div className={css.detail}>
      <header className={css.title}>
        <nav aria-label="Path">
          <Link href="/runs">Runs</Link>
          <ChevronRight size={16} aria-hidden />
          {run.automation_name ? (
            <Link href={addressOfAutomation(run.automation_name)}>{visible(run.automation_name)}</Link>
          ) : (
            <span>{name}</span>
          )}
          <ChevronRight size={16} aria-hidden />
          <h1>{shortId(run.id)}</h1>
        </nav>
        <Status look={look} title={waitsAsFile(run) ? fileTitle(run.instance_name) : undefined} />
        <span className={css.space} />
        {run.session_id && (
          <ButtonLink size="large" href={`${addressOfSession(run.session_id)}?run=${run.id}`}>
            Conversation
          </ButtonLink>
        )}
        {isOpen(run.status) && (
          <Button size="large" refusal={refusal("runs:write")} onClick={() => cancelRun(run.id, name)}>
            Cancel
          </Button>
        )}
        {goal !== null && (
          <ButtonLink kind="primary" size="large" href={addressOfGoal(goal)}>
            Open goal
          </ButtonLink>
        )}
        {canRetry(run) && last?.id === run.id && (
          <Button kind="primary" size="large" busy={busy} refusal={refusal("runs:write")} onClick={retry}>
            Retry
          </Button>
        )}
      </header>
      {reason && run.status !== "succeeded" && !isOpen(run.status) && (
        <Callout
          kind={look === "failed" || look === "missed" || look === "stalled" ? "failed" : "plain"}
          title={sentence(reason)}
        >
          {advice}
        </Callout>
      )}
      {run.blocked_on && <Callout title="It waits.">{blockedText(run.blocked_on)}</Callout>}
      {last && last.id !== run.id && (
        <Callout title={`A later attempt ${wordOf(lookOfRun(last))}.`}>
          <Link href={addressOfRun(last.id)}>Open the last attempt</Link>
        </Callout>
      )}
      <Facts run={run} />
      {run.session_id && <Waterfall run={run} />}
      <Answer run={run} />
      {run.session_id !== null && run.started_at !== null && may("sessions:read") && (
        <Suspense fallback={null}>
          <RunArtifacts run={run} />
        </Suspense>
      )}
      <Requests run={run} />
      <RecordPanel run={run} />
    </div>
  );
}

function Facts({ run }: { run: RunView }) {
  const instance = useInstanceOfRun(run.instance_name);
  const goal = goalOf(run);
  const origin = goal === null ? originOf(run) : <Link href={addressOfGoal(goal)}>a task of a goal</Link>;
  const rows: [string, ReactNode][] = [
    ["Due", run.scheduled_for ? longTime(run.scheduled_for) : null],
    ["Due until", run.missed_until ? `${longTime(run.missed_until)}, ${run.occurrences} instants` : null],
    ["Arrived", longTime(run.input_at)],
    ["Came from", origin],
    ["Agent", run.agent_name && visible(run.agent_name)],
    // A run that waits shows the cause of its wait.
    ["Reason", isOpen(run.status) ? null : run.reason?.replaceAll("_", " ")],
    ["Instance", instance],
    ["File", run.delivery?.file],
    ["Delivered", run.delivery && deliveryText(run.delivery)],
    ["Usage", run.started_at ? usageText(run.usage) : null],
    ["Tools", run.flags.tool_calls > 0 ? plural(run.flags.tool_calls, "call") : null],
    ["Denied", run.flags.permissions_denied > 0 ? plural(run.flags.permissions_denied, "request") : null],
    ["ID", run.id],
  ];
  return (
    <dl className={css.facts}>
      {rows
        .filter(([, value]) => value)
        .map(([label, value]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

/** All attempts on one axis: how long each waited, and how long its turn took. */
function Waterfall({ run }: { run: RunView }) {
  const now = useNow(isOpen(run.status) ? 1_000 : 3_600_000);
  const { rows, total, sums } = phasesOf(run.attempts, now);
  const share = (ms: number) => `${total === 0 ? 0 : (ms / total) * 100}%`;
  return (
    <Panel title="Where the time went" aside={<span className={css.sums}>{sums}</span>}>
      <ol className={css.waterfall}>
        {rows.map((row) => {
          const attempt = run.attempts.find((each) => each.id === row.id);
          const look = attempt ? lookOfRun(attempt) : "queued";
          return (
            <li key={row.id} aria-current={row.id === run.id ? "true" : undefined}>
              <Link href={addressOfRun(row.id)}>
                <StatusGlyph look={look} title={wordOf(look)} />
                <span>Attempt {row.attempt}</span>
              </Link>
              <div className={css.bars} title={row.text}>
                {row.phases.map((phase) => (
                  <span
                    key={phase.name}
                    data-phase={phase.name}
                    data-look={look}
                    style={{ left: share(phase.from), width: share(phase.to - phase.from) }}
                  />
                ))}
              </div>
              <small>{row.text}</small>
            </li>
          );
        })}
      </ol>
    </Panel>
  );
}

/** Reads the text of a running turn as it grows. */
function useLiveText(run: Run): string {
  const [text, setText] = useState("");
  const running = run.status === "running";
  useEffect(() => {
    setText("");
    if (!running) return;
    return followText(
      (from, signal) => get<TextPiece>(`/runs/${run.id}/text`, { from: from || null }, signal),
      setText,
      LIVE_MS,
    );
  }, [run.id, running]);
  return running ? text : "";
}

function Answer({ run }: { run: RunView }) {
  const live = useLiveText(run);
  const answer = run.answer ?? (live === "" ? null : live);
  if (answer === null && !run.content) return null;
  return (
    <>
      <Panel title="Asked">
        <pre className={css.text} tabIndex={0}>
          {run.content}
        </pre>
      </Panel>
      {(answer !== null || run.status === "running") && (
        <Panel title={run.status === "running" ? "Answers now" : "Answer"}>
          <div className={css.answer}>
            {answer === null ? "The agent has written nothing yet." : <Markdown text={answer} />}
          </div>
        </Panel>
      )}
    </>
  );
}

function Requests({ run }: { run: RunView }) {
  const may = usePermission();
  const approvals = useQuery({
    queryKey: [...keys.approvals, "of", run.id],
    queryFn: ({ signal }) =>
      get<Page<Approval>>("/approvals", { run: run.id, state: "any", limit: 100 }, signal),
    enabled: may("approvals:read"),
  });
  const messages = useQuery({
    queryKey: [...keys.runs, "messages", run.id],
    queryFn: ({ signal }) =>
      get<Messages>(`/sessions/${run.session_id}/messages`, { from_run: run.id, limit: 200 }, signal),
    enabled: run.session_id !== null && may("sessions:read"),
  });
  const tools = (messages.data?.items ?? []).filter(
    (message: Message) => message.run_id === run.id && message.kind === "tool_call",
  );
  const requests = approvals.data?.items ?? [];
  if (tools.length === 0 && requests.length === 0) return null;
  return (
    <Panel title="What it did" aside={<span className={css.sums}>{plural(tools.length, "tool call")}</span>}>
      <ul className={`${listCss.lines} ${css.steps}`}>
        {tools.map((message) => (
          <li key={message.seq}>
            <code className="truncate">{message.content}</code>
            <time dateTime={message.created_at}>{clockWithSeconds(Date.parse(message.created_at))}</time>
          </li>
        ))}
        {requests.map((approval) => (
          <li key={approval.id}>
            <StatusGlyph
              look={
                approval.state === "allowed"
                  ? "succeeded"
                  : approval.state === "pending"
                    ? "waits"
                    : "cancelled"
              }
            />
            <span className="truncate">
              asked: <code>{visible(approval.title)}</code>
            </span>
            <span>
              {approval.state === "pending" ? "waits for you" : approval.state}
              {approval.decided_by && ` by ${callerName(approval.decided_by)}`}
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function RecordPanel({ run }: { run: RunView }) {
  const may = usePermission();
  const [open, setOpen] = useState(false);
  const permitted = may("records:read");
  const record = useQuery({
    queryKey: [...keys.runs, "record", run.id],
    queryFn: ({ signal }) => get<RunRecordView>(`/runs/${run.id}/record`, {}, signal),
    enabled: open && permitted,
  });
  if (run.session_id === null) return null;
  const data = record.data?.record;
  return (
    <details className={css.record} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Sent prompt and diagnostics</summary>
      {!permitted ? (
        <p>Your role does not show it: it needs records:read.</p>
      ) : run.record_trimmed ? (
        <p>It was removed, because it is older than the server keeps it.</p>
      ) : record.error ? (
        <ErrorState error={record.error} onRetry={() => record.refetch()} />
      ) : record.data === undefined ? (
        <Skeleton rows={4} />
      ) : data == null ? (
        <p>There is none yet.</p>
      ) : (
        <>
          {data.run_report?.text && (
            <>
              <h3>Report of earlier runs, version {data.run_report.version}</h3>
              <pre className={css.text} tabIndex={0}>
                {data.run_report.text}
              </pre>
            </>
          )}
          {data.rendered_prompt && (
            <>
              <h3>
                Prompt{data.prompt_ref ? `, ${data.prompt_ref.id} version ${data.prompt_ref.version}` : ""}
              </h3>
              <pre className={css.text} tabIndex={0}>
                {data.rendered_prompt}
              </pre>
            </>
          )}
          {data.error && (
            <>
              <h3>Error</h3>
              <pre className={css.text} tabIndex={0}>
                {data.error}
              </pre>
            </>
          )}
          <h3>Diagnostics</h3>
          <pre className={css.text} tabIndex={0}>
            {JSON.stringify(data.diagnostics, null, 2)}
          </pre>
        </>
      )}
    </details>
  );
}
