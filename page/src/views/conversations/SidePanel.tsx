import { ChevronDown } from "lucide-react";
import { lazy, memo, Suspense } from "react";
import { Link } from "wouter";
import { usePermission } from "../../api/queries";
import type { Automation, Message, OpenRun, Run, RunStatus, SessionView } from "../../api/types";
import { Button } from "../../kit/Button";
import { count, dayAndTime, longTime, plural, readerZone } from "../../kit/format";
import { OutcomeStrip } from "../../kit/OutcomeStrip";
import { type Look, lookOfRun, Status, StatusGlyph, wordOf } from "../../kit/Status";
import { visible } from "../../kit/visible";
import { useConnection } from "../../shell/connection";
import { addressOfAutomation, addressOfGoal } from "../addresses";
import { fireAutomation, pauseAutomation, resumeAutomation } from "../automation-actions";
import { scheduleOf } from "../automations/schedule";
import { useGoalOf } from "../goals/goal-of-session";
import { stateOfGoal } from "../goals/words";
import { usePlace } from "../instances";
import { views } from "../registry";
import css from "./conversation.module.css";
import type { Request } from "./requests";
import { Steps, stepsOf } from "./rows";
import { diffsOf, linesOf } from "./tools";
import { contextOf, usageText } from "./usage";

const SessionArtifacts = lazy(() =>
  import("../artifacts/Artifacts").then((module) => ({ default: module.SessionArtifacts })),
);
const MemorySection = lazy(() =>
  import("../memory/Memory").then((module) => ({ default: module.MemorySection })),
);

export interface SidePanelProps {
  view: SessionView;
  automations: Automation[];
  requests: Request[];
  plan: Message | null;
  rows: readonly Message[];
  lastRun: Run | null;
  unified: boolean;
}

export const SidePanel = memo(function SidePanel(props: SidePanelProps) {
  const { view, automations, requests, plan, rows, lastRun, unified } = props;
  return (
    <>
      <GoalSection view={view} />
      {automations.length > 0 && (
        <section>
          <h2>Automations here</h2>
          {unified && <p className={css.small}>All automations of web chats share this conversation.</p>}
          {automations.map((automation) => (
            <AutomationRow
              key={automation.id}
              automation={automation}
              openRuns={view.open_runs.filter((run) => run.automation_id === automation.id)}
              waitsForYou={requests.some((request) => request.automation_id === automation.id)}
            />
          ))}
          <p className={css.small}>Times in {readerZone()}</p>
        </section>
      )}
      {plan && <PlanSection plan={plan} />}
      <Changes rows={rows} />
      <Suspense fallback={null}>
        <SessionArtifacts session={view.id} />
        <MemorySection
          owner={{ kind: "session", id: view.id, name: view.id }}
          links={<OtherMemory view={view} automations={automations} />}
        />
      </Suspense>
      <UsageSection view={view} lastRun={lastRun} />
    </>
  );
});

/** The goal for which the seats of the session work. Shows nothing if there is none. */
function GoalSection({ view }: Pick<SidePanelProps, "view">) {
  const goal = useGoalOf(view);
  if (goal == null) return null;
  return (
    <section>
      <h2>
        <Link href={addressOfGoal(goal.id)}>Goal</Link>
        <small>
          {goal.tasks.done} of {plural(goal.tasks.total, "task")} done
        </small>
      </h2>
      <Status {...stateOfGoal(goal)} />
    </section>
  );
}

/** The state of an automation in one glyph: what waits or runs now, else the last outcome. */
export function lookOfAutomation(
  automation: Automation,
  openRuns: { status: RunStatus; worker_id?: string | null }[],
  waitsForYou: boolean,
): Look | null {
  if (waitsForYou) return "waits";
  if (openRuns.some((run) => run.status === "running")) return "running";
  if (openRuns.some((run) => lookOfRun(run) === "delivered")) return "delivered";
  if (automation.state === "paused") return "paused";
  const last = automation.outcomes.find((run) => run.ended_at !== null);
  return last ? lookOfRun(last) : null;
}

/** Says how many runs wait, and where their file waits if that is all they wait for. */
function waitingText(openRuns: OpenRun[], waiting: number): string {
  const files = openRuns.flatMap(({ blocked_on: blocked }) =>
    blocked?.for === "runtime" ? blocked.name : [],
  );
  if (files.length === waiting && files[0] !== undefined)
    return `${plural(waiting, "file")} ${waiting === 1 ? "waits" : "wait"} at ${files[0]}`;
  return `${plural(waiting, "run")} ${waiting === 1 ? "waits" : "wait"}`;
}

function AutomationRow(props: { automation: Automation; openRuns: OpenRun[]; waitsForYou: boolean }) {
  const { automation, openRuns, waitsForYou } = props;
  const may = usePermission();
  const { online } = useConnection();
  const look = lookOfAutomation(automation, openRuns, waitsForYou);
  const next = automation.next_run;
  const waiting = openRuns.filter((run) => run.status !== "running").length;
  const place = usePlace(automation);
  const paused = automation.state === "paused";
  const refusal = !online
    ? "There is no connection"
    : may("automations:write")
      ? null
      : "Your role does not permit this: it needs automations:write";
  const hasView = views.some((view) => view.pattern.startsWith("/automations/"));
  return (
    <div className={css.automation}>
      <div>
        {look ? <StatusGlyph look={look} title={wordOf(look)} /> : <span className={css.noGlyph} />}
        <strong className="truncate">
          {hasView ? (
            <Link href={`/automations/${encodeURIComponent(automation.name)}`}>
              {visible(automation.name)}
            </Link>
          ) : (
            visible(automation.name)
          )}
        </strong>
        <span title={next?.display}>
          {paused ? "paused" : next ? `next ${dayAndTime(next.at)}` : "no next run"}
        </span>
      </div>
      <p>
        {scheduleOf(automation)}
        {place !== null && `, on ${place}`}
        {waiting > 0 && `; ${waitingText(openRuns, waiting)}`}
      </p>
      {paused && automation.pause_reason && <p>{automation.pause_reason}</p>}
      {automation.attention && <p>{automation.attention}</p>}
      <OutcomeStrip outcomes={automation.outcomes} />
      <div className={css.automationButtons}>
        <Button size="small" refusal={refusal} onClick={() => fireAutomation(automation)}>
          Run now
        </Button>
        {paused ? (
          <Button size="small" refusal={refusal} onClick={() => resumeAutomation(automation)}>
            Resume
          </Button>
        ) : (
          <Button
            size="small"
            refusal={refusal}
            onClick={() => pauseAutomation(automation)}
            aria-label={`Pause ${visible(automation.name)}`}
          >
            Pause
          </Button>
        )}
      </div>
    </div>
  );
}

/** Links to the memory of the automations that speak here: turns here read it, too. */
function OtherMemory({ view, automations }: Pick<SidePanelProps, "view" | "automations">) {
  const others = automations.map(({ id, name }) => ({ name, address: addressOfAutomation(name), id }));
  // A session of an automation that makes a new one for each run is not its session for the next turn.
  if (view.schedule_id !== null && !others.some(({ id }) => id === view.schedule_id))
    others.push({
      name: "its automation",
      address: addressOfAutomation(view.schedule_id),
      id: view.schedule_id,
    });
  if (others.length === 0) return null;
  return (
    <p className={css.otherMemory}>
      Turns here also read the memory of{" "}
      {others.map(({ id, name, address }, index) => (
        <span key={id}>
          {index > 0 && ", "}
          <Link href={`${address}?tab=memory`}>{visible(name)}</Link>
        </span>
      ))}
    </p>
  );
}

function PlanSection({ plan }: { plan: Message }) {
  const steps = stepsOf(plan);
  const done = steps.filter((step) => step.status === "completed").length;
  return (
    <section>
      <h2>
        Plan
        <small>
          {done} of {steps.length}
        </small>
      </h2>
      <Steps plan={plan} />
    </section>
  );
}

function Changes({ rows }: { rows: readonly Message[] }) {
  const files = new Map<string, { added: number; deleted: number }>();
  for (const row of rows) {
    if (row.kind !== "tool_call") continue;
    for (const diff of diffsOf(row)) {
      const { added, deleted } = linesOf(diff);
      const sum = files.get(diff.path) ?? { added: 0, deleted: 0 };
      files.set(diff.path, { added: sum.added + added, deleted: sum.deleted + deleted });
    }
  }
  if (files.size === 0) return null;
  const all = [...files.values()].reduce((sum, each) => ({
    added: sum.added + each.added,
    deleted: sum.deleted + each.deleted,
  }));
  return (
    <section>
      <h2>
        Changed here
        <small>
          <span className={css.plus}>+{all.added}</span> <span className={css.minus}>−{all.deleted}</span>
        </small>
      </h2>
      <ul className={css.files}>
        {[...files].map(([path, { added, deleted }]) => (
          <li key={path}>
            <code className="truncate" title={path}>
              {path}
            </code>
            <span className={css.plus}>+{added}</span>
            <span className={css.minus}>−{deleted}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function UsageSection({ view, lastRun }: { view: SessionView; lastRun: Run | null }) {
  const context = contextOf(lastRun?.usage) ?? contextOf(view.seats.find((seat) => seat.is_entry)?.usage);
  if (!context && !lastRun) return null;
  const share = context ? Math.min(1, context.used / context.size) : 0;
  return (
    <section>
      {lastRun && (
        <h2 title={longTime(lastRun.created_at)}>
          {lastRun.status === "running" ? "This turn" : "Last turn"}
          <small>{usageText(lastRun.usage)}</small>
        </h2>
      )}
      {context && (
        <>
          <div className={css.contextLine}>
            <span>Context</span>
            <span>
              {count(context.used)} of {count(context.size)}
            </span>
          </div>
          <div
            className={css.meter}
            role="meter"
            aria-label="Context"
            aria-valuenow={Math.round(share * 100)}
            aria-valuemin={0}
            aria-valuemax={100}
          >
            <span style={{ width: `${share * 100}%` }} />
          </div>
        </>
      )}
    </section>
  );
}

const SHOWN_IN_LINE = 2;

/** The same in one line, for narrow screens. */
export const SideLine = memo(function SideLine(props: SidePanelProps & { onOpen(): void }) {
  const { automations, requests, view, onOpen } = props;
  return (
    <button type="button" className={css.sideLine} onClick={onOpen}>
      {automations.length > 0 ? (
        <b className="visually-hidden">Automations here: </b>
      ) : (
        <span>Memory and details</span>
      )}
      {automations.slice(0, SHOWN_IN_LINE).map((automation) => {
        const open = view.open_runs.filter((run) => run.automation_id === automation.id);
        const waits = requests.some((request) => request.automation_id === automation.id);
        const look = lookOfAutomation(automation, open, waits);
        const next = automation.next_run;
        return (
          <span key={automation.id}>
            {look && <StatusGlyph look={look} title={wordOf(look)} />}
            <strong>{visible(automation.name)}</strong>{" "}
            {automation.state === "paused" ? "paused" : next ? `next ${dayAndTime(next.at)}` : ""}
          </span>
        );
      })}
      {automations.length > SHOWN_IN_LINE && <span>+{automations.length - SHOWN_IN_LINE}</span>}
      <ChevronDown size={16} aria-hidden />
    </button>
  );
});
