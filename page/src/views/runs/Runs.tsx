import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { Ellipsis } from "lucide-react";
import { lazy, Suspense, useRef } from "react";
import { Link, useLocation } from "wouter";
import { get } from "../../api/client";
import { keys, useAutomations } from "../../api/queries";
import type { Page, RunItem, RunStatus } from "../../api/types";
import { IconButton } from "../../kit/Button";
import { copyText } from "../../kit/clipboard";
import { ErrorState } from "../../kit/ErrorState";
import { dayAndTime, longTime } from "../../kit/format";
import { Chips, MorePages } from "../../kit/List";
import { EmptyState, Skeleton } from "../../kit/layout";
import listCss from "../../kit/list.module.css";
import { Menu } from "../../kit/Menu";
import { fileTitle, lookOfListedRun, Status, waitsAsFile } from "../../kit/Status";
import { useNow } from "../../kit/Time";
import { VirtualList, type VirtualListHandle } from "../../kit/VirtualList";
import { visible } from "../../kit/visible";
import { useRowKeys } from "../../shell/keys";
import { addressOfGoal, addressOfRun, addressOfSession } from "../addresses";
import { usageText } from "../conversations/usage";
import { useFilter } from "../filter";
import { useRefusal } from "../refusal";
import { cancelRun, retryRun } from "../run-actions";
import { MatchingRuns } from "./MatchingRuns";
import css from "./runs.module.css";
import { canRetry, goalOf, isOpen, originOf, subjectOf, turnTime } from "./words";

const RunDetail = lazy(() => import("./RunDetail"));

/** The route `/runs/:id?`. */
export function Runs({ params }: { params: { id?: string } }) {
  if (params.id === undefined) return <Ledger />;
  return (
    <Suspense fallback={<Skeleton rows={8} />}>
      <RunDetail key={params.id} id={params.id} />
    </Suspense>
  );
}

const STATUSES: { value: string; label: string; statuses: string }[] = [
  { value: "", label: "All", statuses: "" },
  { value: "failed", label: "Failed", statuses: "failed,stalled,missed" },
  { value: "open", label: "Open", statuses: "running,delivered,queued,deferred" },
  { value: "succeeded", label: "Succeeded", statuses: "succeeded" },
  { value: "other", label: "Skipped, cancelled", statuses: "skipped,cancelled" },
];

const PERIODS: { value: string; label: string; hours: number | null }[] = [
  { value: "", label: "All time", hours: null },
  { value: "24h", label: "Last 24 hours", hours: 24 },
  { value: "7d", label: "Last 7 days", hours: 7 * 24 },
  { value: "30d", label: "Last 30 days", hours: 30 * 24 },
];

const PAGE = 100;

/** The start of a period, on a whole minute, so that the query does not change with each rendering. */
function startOf(hours: number | null): string | null {
  if (hours === null) return null;
  const minute = Math.floor(Date.now() / 60_000) * 60_000;
  return new Date(minute - hours * 3_600_000).toISOString();
}

function Ledger() {
  const [status, setStatus] = useFilter("status");
  const [automation, setAutomation] = useFilter("automation");
  const [period, setPeriod] = useFilter("period");
  const [reason, setReason] = useFilter("reason");
  const [attempts, setAttempts] = useFilter("attempts");
  const automations = useAutomations();
  // An address may name a filter that the page does not have. It filters nothing then.
  const chosen = STATUSES.find((each) => each.value === status);
  const statuses = chosen?.statuses ?? "";
  const hours = PERIODS.find((each) => each.value === period)?.hours ?? null;
  const filter = { status: statuses, automation, reason, all_attempts: attempts === "all" || null };
  const queryKey = [...keys.runs, filter, hours];
  const list = useInfiniteQuery({
    queryKey,
    queryFn: ({ signal, pageParam }) =>
      get<Page<RunItem>>("/runs", { ...filter, from: startOf(hours), after: pageParam, limit: PAGE }, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    placeholderData: keepPreviousData,
  });
  const lines = useRef<VirtualListHandle>(null);
  useRowKeys(lines);
  const rows = list.data?.pages.flatMap((page) => page.items) ?? [];
  const filtered = statuses !== "" || automation !== "" || hours !== null || reason !== "";
  return (
    <div className={listCss.listView}>
      <header className={listCss.head}>
        <h1>Runs</h1>
        <Chips label="Status" value={chosen?.value ?? ""} options={STATUSES} onChange={setStatus} />
        <select
          aria-label="Automation"
          value={automation}
          onChange={(event) => setAutomation(event.target.value)}
        >
          <option value="">All automations</option>
          {automation !== "" && !automations.data?.items.some((each) => each.name === automation) && (
            <option value={automation}>{automation}</option>
          )}
          {automations.data?.items.map((each) => (
            <option key={each.id} value={each.name}>
              {visible(each.name)}
            </option>
          ))}
        </select>
        <select aria-label="Period" value={period} onChange={(event) => setPeriod(event.target.value)}>
          {PERIODS.map((each) => (
            <option key={each.value} value={each.value}>
              {each.label}
            </option>
          ))}
        </select>
        <label className={css.attempts}>
          <input
            type="checkbox"
            checked={attempts === "all"}
            onChange={(event) => setAttempts(event.target.checked ? "all" : "")}
          />
          Each attempt
        </label>
        {/* The number is one of inputs, and the actions concern inputs. */}
        {attempts !== "all" && (
          <MatchingRuns
            filter={{
              ...(statuses !== "" && { status: statuses.split(",") as RunStatus[] }),
              ...(automation !== "" && { automation }),
              ...(reason !== "" && { reason }),
            }}
            from={() => startOf(hours)}
            narrow={filtered}
          />
        )}
        {reason !== "" && (
          <button
            type="button"
            className={css.reason}
            onClick={() => setReason("")}
            title="Remove this filter"
          >
            reason: {reason} ✕
          </button>
        )}
      </header>
      {list.error && (
        <div className={listCss.headProblem}>
          <ErrorState error={list.error} onRetry={() => list.refetch()} />
        </div>
      )}
      {list.data === undefined ? (
        !list.error && <Skeleton rows={10} />
      ) : rows.length === 0 ? (
        <EmptyState
          text={filtered ? "No run matches." : "Nothing has run yet."}
          command={
            filtered ? "matins run list --status failed --since 24h" : 'matins session send --new "Hello"'
          }
        />
      ) : (
        <div className={listCss.table} data-stale={list.isPlaceholderData || undefined}>
          <div className={`${listCss.columns} ${css.columns}`} aria-hidden="true">
            <span>Status</span>
            <span>What</span>
            <span>Result</span>
            <span>Turn</span>
            <span>Usage</span>
            <span>Time</span>
          </div>
          <VirtualList
            ref={lines}
            label="Runs"
            className={listCss.rows ?? ""}
            items={rows}
            rowHeight={40}
            keyOf={(run) => run.id}
            render={(run) => <RunRow run={run} attempts={attempts === "all"} />}
          />
          <MorePages list={list} queryKey={queryKey}>
            {rows.length} shown. Show more
          </MorePages>
        </div>
      )}
    </div>
  );
}

function RunRow({ run, attempts }: { run: RunItem; attempts: boolean }) {
  const now = useNow(isOpen(run.status) ? 1_000 : 3_600_000);
  const look = lookOfListedRun(run);
  const name = subjectOf(run);
  const at = run.scheduled_for ?? run.input_at;
  const instants = run.occurrences > 1 ? `${run.occurrences} instants` : null;
  const attempt = run.attempt > 1 ? (attempts ? `attempt ${run.attempt}` : `${run.attempt} attempts`) : null;
  const asFile = waitsAsFile(run);
  const result = [
    asFile && run.instance_name && `at ${run.instance_name}`,
    run.status === "succeeded" ? run.answer : (run.message ?? run.reason ?? run.answer),
    instants,
    attempt,
  ];
  return (
    <div className={listCss.row}>
      <Link href={addressOfRun(run.id)} className={`${listCss.rowLink} ${css.rowLink}`}>
        <Status look={look} title={asFile ? fileTitle(run.instance_name) : undefined} />
        <span className={css.what}>
          <strong className="truncate">{name}</strong>
          {run.source !== "schedule" && <small>{originOf(run)}</small>}
        </span>
        <span className={`truncate ${css.result}`}>{result.filter(Boolean).join(" · ")}</span>
        <span>{turnTime(run, now)}</span>
        <span className="truncate">{run.started_at === null ? "" : usageText(run.usage)}</span>
        <time dateTime={at} title={longTime(at)}>
          {dayAndTime(at)}
        </time>
      </Link>
      <RunMenu run={run} name={name} />
    </div>
  );
}

function RunMenu({ run, name }: { run: RunItem; name: string }) {
  const refusal = useRefusal();
  const [, navigate] = useLocation();
  const session = run.session_id;
  const goal = goalOf(run);
  const items = [
    ...(goal === null ? [] : [{ label: "Open goal", onSelect: () => navigate(addressOfGoal(goal)) }]),
    ...(canRetry(run)
      ? [{ label: "Retry", refusal: refusal("runs:write"), onSelect: () => void retryRun(run.id, name) }]
      : []),
    ...(isOpen(run.status)
      ? [{ label: "Cancel", refusal: refusal("runs:write"), onSelect: () => void cancelRun(run.id, name) }]
      : []),
    ...(session
      ? [{ label: "Conversation", onSelect: () => navigate(`${addressOfSession(session)}?run=${run.id}`) }]
      : []),
    { label: "Copy the ID", onSelect: () => void copyText(run.id) },
  ];
  return (
    <Menu
      trigger={
        <IconButton label={`Actions of ${name}`}>
          <Ellipsis size={16} aria-hidden />
        </IconButton>
      }
      items={items}
    />
  );
}
