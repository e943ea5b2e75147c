import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { get } from "../../api/client";
import { ApiProblem } from "../../api/problem";
import { keepWaiting, keys, useAutomations } from "../../api/queries";
import type { NextRun, Overview as OverviewData, Timeline } from "../../api/types";
import { Callout, ErrorState } from "../../kit/ErrorState";
import { clock, countText, dayAndTime, dayHeading, plural, readerZone, sameDay } from "../../kit/format";
import { Skeleton } from "../../kit/layout";
import listCss from "../../kit/list.module.css";
import { type Look, StatusGlyph, wordOf } from "../../kit/Status";
import { useNow } from "../../kit/Time";
import { visible } from "../../kit/visible";
import { addressOfAutomation } from "../addresses";
import { goalsAtWork } from "./at-work";
import { FirstSteps } from "./FirstSteps";
import { useLastLook } from "./last-look";
import { Needs } from "./Needs";
import css from "./overview.module.css";
import { Spending } from "./Spending";
import { TimelinePanel } from "./TimelinePanel";

/** Reads the overview. A browser whose clock goes wrong gets the last 24 hours. */
async function readOverview(since: string | null, signal: AbortSignal): Promise<OverviewData> {
  try {
    const overview = await get<OverviewData>("/overview", { since }, signal);
    keepWaiting(overview.needs);
    return overview;
  } catch (error) {
    if (since !== null && error instanceof ApiProblem && error.problem.field === "since") {
      return get<OverviewData>("/overview", {}, signal);
    }
    throw error;
  }
}

/** Returns whether nothing ran lately and nothing will, so that the server may be new. */
const isWithoutRuns = ({ counts, usage, next_runs, needs }: OverviewData): boolean =>
  Object.values(counts).every((number) => number === 0) &&
  usage.month.turns === 0 &&
  next_runs.length === 0 &&
  !needs.goals?.length;

/** Deadlines and next runs pass without an event. */
const REFETCH_MS = 60_000;

/** The rows that the first screen has room for, below four rows that need a person. On a phone it scrolls anyway. */
const ROOM =
  window.innerWidth < 900 ? 8 : Math.min(20, Math.max(5, Math.floor((window.innerHeight - 630) / 24)));

/** The lanes that are read. Those beyond the room share a row. */
const LANES = 30;

/** The route `/`: what ran, what failed, what waits, what comes next, and what it cost. */
export function Overview() {
  const since = useLastLook();
  const overview = useQuery({
    queryKey: [...keys.overview, since],
    queryFn: ({ signal }) => readOverview(since, signal),
    refetchInterval: REFETCH_MS,
  });
  const timeline = useQuery({
    queryKey: keys.timeline,
    queryFn: ({ signal }) => get<Timeline>("/timeline", { lanes: LANES }, signal),
    refetchInterval: REFETCH_MS,
  });
  const seemsNew = overview.data !== undefined && isWithoutRuns(overview.data);
  const automations = useAutomations(seemsNew);
  if (overview.data === undefined) {
    return (
      <div className={css.overview}>
        {overview.error ? (
          <ErrorState error={overview.error} onRetry={() => overview.refetch()} />
        ) : (
          <Skeleton rows={8} />
        )}
      </div>
    );
  }
  const data = overview.data;
  const isNew = seemsNew && automations.data?.items.length === 0;
  return (
    <div className={css.overview}>
      <Headline overview={data} looked={since !== null} />
      {overview.error && <ErrorState error={overview.error} onRetry={() => overview.refetch()} />}
      {!data.has_server && (
        <Callout kind="failed" title="No server takes turns.">
          Nothing fires until one starts: <code>matins serve</code>
        </Callout>
      )}
      {isNew ? (
        <FirstSteps />
      ) : (
        <>
          <div className={css.top}>
            <Needs needs={data.needs} />
            <NextRuns runs={data.next_runs} now={data.now} />
          </div>
          {timeline.data ? (
            timeline.data.lanes.length > 0 && (
              <TimelinePanel
                timeline={timeline.data}
                approvals={data.needs.approvals}
                room={ROOM}
                since={since}
              />
            )
          ) : timeline.error ? (
            <ErrorState error={timeline.error} onRetry={() => timeline.refetch()} />
          ) : (
            <Skeleton rows={4} />
          )}
          <Spending overview={data} />
        </>
      )}
    </div>
  );
}

function Headline({ overview, looked }: { overview: OverviewData; looked: boolean }) {
  const { counts } = overview;
  const now = new Date(useNow(10_000)).toISOString();
  const atWork = goalsAtWork(overview.running, counts.running);
  const { approvals, questions, goals } = overview.needs;
  // A run that waits for a person is under way, too, but only one of the two words is right.
  const waiting = new Set(approvals.map((approval) => approval.run_id)).size;
  const asking = approvals.length + (questions?.length ?? 0) + (goals?.length ?? 0);
  const ran = counts.succeeded + counts.failed + counts.stalled + counts.cancelled;
  const since = dayAndTime(overview.since);
  return (
    <header className={css.headline}>
      <div>
        <h1>
          {overview.counts_cut && "More than "}
          {plural(ran, "run")} since {looked && <span className={css.looked}>you looked at </span>}
          {since}
        </h1>
        <div className={css.counts}>
          <Counts
            label={`Since ${since}`}
            parts={[
              [counts.succeeded, "succeeded"],
              [counts.failed, "failed"],
              [counts.stalled, "stalled"],
              [counts.missed, "missed"],
              [counts.skipped, "skipped"],
              [counts.cancelled, "cancelled"],
            ]}
          />
          {/* These may have begun before the period, so that they are not numbers of it. */}
          <Counts
            label="Now"
            isNamed
            parts={[
              [asking, "waits", asking === 1 ? "waits for you" : "wait for you"],
              [counts.running - waiting, "running"],
              [counts.queued, "queued"],
              [counts.delivered ?? 0, "delivered", counts.delivered === 1 ? "file waits" : "files wait"],
            ]}
          >
            {atWork.count > 0 && (
              <li>
                <StatusGlyph look="running" />
                <Link href="/goals?state=active">
                  <strong>{countText(atWork)}</strong> {atWork.count === 1 ? "goal" : "goals"} at work
                </Link>
              </li>
            )}
          </Counts>
        </div>
      </div>
      <p>
        <time dateTime={now}>
          {dayHeading(now)}, <strong>{clock(now)}</strong>
        </time>
        <span>Times in {readerZone()}</span>
      </p>
    </header>
  );
}

/** Numbers of runs, apart from those that are 0, and further lines. With `isNamed`, the label is visible. */
function Counts(props: {
  label: string;
  isNamed?: boolean;
  parts: [number, Look, string?][];
  children?: ReactNode;
}) {
  const parts = props.parts.filter(([number]) => number > 0);
  if (parts.length === 0 && !props.children) return null;
  return (
    <ul aria-label={props.label}>
      {props.isNamed && <li aria-hidden="true">{props.label}:</li>}
      {parts.map(([number, look, word]) => (
        <li key={look}>
          <StatusGlyph look={look} />
          <span>
            <strong>{number}</strong> {word ?? wordOf(look)}
          </span>
        </li>
      ))}
      {props.children}
    </ul>
  );
}

/** The time until an instant, in its largest units. */
function until(at: string, now: number): string {
  const minutes = Math.round((Date.parse(at) - now) / 60_000);
  if (minutes < 0) return "overdue";
  if (minutes < 1) return "now";
  if (minutes < 60) return `in ${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 10) return minutes % 60 === 0 ? `in ${hours} h` : `in ${hours} h ${minutes % 60} min`;
  return hours < 48 ? `in ${hours} h` : `in ${Math.round(hours / 24)} d`;
}

function NextRuns({ runs, now }: { runs: NextRun[]; now: string }) {
  const present = useNow(10_000);
  return (
    <section className={css.panel} aria-label="Next runs">
      <header>
        <h2>Next runs</h2>
      </header>
      {runs.length === 0 && <p className={css.nothing}>No automation is due.</p>}
      <ol className={`${listCss.lines} ${css.next}`}>
        {runs.map((run) => (
          <li key={run.automation_id}>
            <time dateTime={run.at} title={run.display}>
              {sameDay(run.at, now) ? clock(run.at) : dayAndTime(run.at)}
            </time>
            <Link className="truncate" href={addressOfAutomation(run.automation_name)}>
              {visible(run.automation_name)}
            </Link>
            <span title={run.display}>{run.in_quiet_hours ? "quiet hours" : until(run.at, present)}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}
