import { useQuery } from "@tanstack/react-query";
import { ChevronRight, Ellipsis } from "lucide-react";
import { lazy, type ReactNode, Suspense, useState, useSyncExternalStore } from "react";
import { Link, Redirect } from "wouter";
import { get, request } from "../../api/client";
import type { Goal, GoalReport, Task, TaskList as Tasks } from "../../api/goals";
import { hasStatus } from "../../api/problem";
import { keys, useApprovals, usePermission } from "../../api/queries";
import type { Page, Question } from "../../api/types";
import { ActionDialog } from "../../kit/ActionDialog";
import { Button, ButtonLink, IconButton } from "../../kit/Button";
import { Callout, ErrorState, sentence } from "../../kit/ErrorState";
import { count, dayAndTime, duration, longTime, plural } from "../../kit/format";
import { Chips, NoLines } from "../../kit/List";
import { EmptyState, Panel, Skeleton, Tabs } from "../../kit/layout";
import { Menu } from "../../kit/Menu";
import { Status, StatusGlyph } from "../../kit/Status";
import { Countdown, Duration, useNow } from "../../kit/Time";
import { toast } from "../../kit/Toast";
import { addressOfApproval, addressOfGoal, addressOfSession } from "../addresses";
import { QuestionAnswer } from "../approvals/Questions";
import { Markdown } from "../conversations/Markdown";
import { useFilter } from "../filter";
import { useRefusal } from "../refusal";
import { moveGoal, postMove } from "./actions";
import { EditGoal } from "./EditGoal";
import { limitLabel } from "./form";
import css from "./goals.module.css";
import { Messages } from "./Messages";
import { TaskGraph } from "./TaskGraph";
import { TaskList } from "./TaskList";
import { TaskPanel } from "./TaskPanel";
import {
  costLimit,
  costShare,
  costText,
  isOver,
  lookOfPhase,
  type Move,
  movesOf,
  PHASES,
  shareOf,
  stateOfGoal,
  stateOfSeat,
  titleOfGoal,
  unreportedText,
} from "./words";

const SessionArtifacts = lazy(() =>
  import("../artifacts/Artifacts").then((module) => ({ default: module.SessionArtifacts })),
);
const MemorySection = lazy(() =>
  import("../memory/Memory").then((module) => ({ default: module.MemorySection })),
);

interface Stored {
  goal: Goal;
  etag: string | null;
}

/** The route `/goals/:id`. */
export default function GoalDetail({ params }: { params: { id: string } }) {
  const { id } = params;
  const stored = useQuery({
    queryKey: [...keys.goal(id), "itself"],
    queryFn: async ({ signal }): Promise<Stored> => {
      const { data, etag } = await request<Goal>("GET", `/goals/${encodeURIComponent(id)}`, { signal });
      return { goal: data, etag };
    },
  });
  if (stored.data === undefined) {
    return (
      <div className={css.detail}>
        <h1 className="visually-hidden">Goal</h1>
        {hasStatus(stored.error, 404) ? (
          <EmptyState
            text="There is no such goal."
            action={<Link href="/goals">All goals</Link>}
            command="matins goal list"
          />
        ) : stored.error ? (
          <ErrorState error={stored.error} onRetry={() => stored.refetch()} />
        ) : (
          <Skeleton rows={8} />
        )}
      </div>
    );
  }
  const { goal, etag } = stored.data;
  // An address may name the goal by its key. Events name it by its ID.
  if (goal.id !== id) return <Redirect to={addressOfGoal(goal.id) + window.location.search} replace />;
  return <Detail key={goal.id} goal={goal} etag={etag} />;
}

const NONE: Task[] = [];

function Detail({ goal, etag }: { goal: Goal; etag: string | null }) {
  const [chosenKey, choose] = useFilter("task");
  const list = useQuery({
    queryKey: [...keys.goal(goal.id), "tasks"],
    queryFn: ({ signal }) => get<Tasks>(`/sessions/${goal.id}/tasks`, {}, signal),
  });
  const tasks = list.data?.tasks ?? NONE;
  const chosen = tasks.find((task) => task.key === chosenKey) ?? null;
  const onChoose = (key: string) => choose(key === chosenKey ? "" : key);
  return (
    <div className={css.detail}>
      <Head goal={goal} etag={etag} />
      <Notices goal={goal} />
      <Facts goal={goal} />
      <div className={css.work}>
        <TasksPanel goal={goal} tasks={tasks} chosen={chosen?.key ?? null} onChoose={onChoose}>
          {list.error && <ErrorState error={list.error} onRetry={() => list.refetch()} />}
          {list.data === undefined && !list.error && <Skeleton rows={6} />}
          {list.data !== undefined && tasks.length === 0 && (
            <NoLines>No task yet. The planner makes them in its first turn.</NoLines>
          )}
        </TasksPanel>
        <aside className={css.side} aria-label="Details">
          {chosen === null ? (
            <About goal={goal} />
          ) : (
            <TaskPanel
              key={chosen.id}
              goal={goal}
              task={chosen}
              onChoose={choose}
              onClose={() => choose("")}
            />
          )}
        </aside>
        <div className={css.below}>
          <Team goal={goal} onChoose={choose} />
          <Kept goal={goal} />
        </div>
      </div>
      <Report goal={goal} />
    </div>
  );
}

const MOVE_WORDS: Record<Move, string> = {
  start: "Start",
  pause: "Pause",
  resume: "Resume",
  cancel: "Cancel…",
  replan: "Plan again…",
};

function Head({ goal, etag }: { goal: Goal; etag: string | null }) {
  const refusal = useRefusal()("sessions:write");
  const [asked, setAsked] = useState<"cancel" | "replan" | null>(null);
  const [editing, setEditing] = useState(false);
  const state = stateOfGoal(goal);
  const waitsForPlan = goal.state === "paused" && goal.reason === "approve_plan";
  const moves = movesOf(goal);
  const direct = moves.filter((move) => move !== "cancel" && move !== "replan");
  const over = isOver(goal);
  return (
    <header className={css.head}>
      <nav aria-label="Path" className={css.path}>
        <Link href="/goals">Goals</Link>
        <ChevronRight size={16} aria-hidden />
      </nav>
      <div className={css.headLine}>
        <h1>{titleOfGoal(goal)}</h1>
        <Status {...state} />
        <small className={css.age}>
          {over ? "took " : "for "}
          <Duration from={goal.created_at} to={goal.ended_at ?? null} />
        </small>
        <span className={css.space} />
        <ButtonLink size="large" href={addressOfSession(goal.id)}>
          Conversation
        </ButtonLink>
        {direct.map((move) => (
          <Button
            key={move}
            size="large"
            kind={move === "pause" ? "ordinary" : "primary"}
            refusal={refusal}
            onClick={() => moveGoal(goal, move)}
          >
            {move === "resume" && waitsForPlan ? "Approve the plan" : MOVE_WORDS[move]}
          </Button>
        ))}
        {moves.includes("cancel") && (
          <Button size="large" refusal={refusal} onClick={() => setAsked("cancel")}>
            {MOVE_WORDS.cancel}
          </Button>
        )}
        <Menu
          trigger={
            <IconButton label="Actions of the goal" bordered>
              <Ellipsis size={16} aria-hidden />
            </IconButton>
          }
          items={[
            ...(over ? [] : [{ label: "Edit…", refusal, onSelect: () => setEditing(true) }]),
            ...(moves.includes("replan")
              ? [{ label: MOVE_WORDS.replan, refusal, onSelect: () => setAsked("replan") }]
              : []),
            { label: "Copy the ID", onSelect: () => void navigator.clipboard?.writeText(goal.id) },
          ]}
        />
      </div>
      {asked === "cancel" && (
        <ActionDialog
          title={`Cancel “${titleOfGoal(goal)}”?`}
          note={`Its running turns are asked to stop, and ${plural(openTasks(goal), "open task")} will not be done. Files and the report stay. A cancelled goal cannot go on.`}
          action="Cancel the goal"
          act={async () => {
            await postMove(goal, "cancel");
            toast(`${titleOfGoal(goal)} is cancelled`);
          }}
          onClose={() => setAsked(null)}
        />
      )}
      {asked === "replan" && (
        <ActionDialog
          title="Plan again?"
          note={`The planner takes one more turn and may add, replace and cancel tasks. ${goal.replans} of ${plural(goal.replan_limit, "further plan")} ${goal.replans === 1 ? "was" : "were"} made.`}
          action="Plan again"
          kind="primary"
          dismiss="Back"
          act={async () => {
            await postMove(goal, "replan");
            toast("The planner plans again");
          }}
          onClose={() => setAsked(null)}
        />
      )}
      {editing && <EditGoal goal={goal} etag={etag} onClose={() => setEditing(false)} />}
    </header>
  );
}

const openTasks = ({ tasks }: Goal): number => tasks.pending + tasks.ready + tasks.running;

/** What needs a person: questions, permissions, and the cause of a pause. */
function Notices({ goal }: { goal: Goal }) {
  const may = usePermission();
  const permitted = may("approvals:read");
  const approvals = (useApprovals(permitted).data?.items ?? []).filter(
    (approval) => approval.session_id === goal.id,
  );
  const questions = useQuery({
    queryKey: [...keys.questions, "of", goal.id],
    queryFn: ({ signal }) => get<Page<Question>>("/questions", { session: goal.id, limit: 100 }, signal),
    enabled: permitted,
  });
  const seatOf = (question: Question) =>
    goal.seats.find((seat) => seat.id === question.seat_id)?.name ?? "A seat";
  return (
    <>
      {goal.state === "paused" && goal.reason === "approve_plan" && (
        <Callout kind="waits" title="The plan waits for you.">
          {plural(goal.tasks.total, "task")} so far. No work begins until you approve it. “Plan again” asks
          for another one.
        </Callout>
      )}
      {goal.state === "paused" && goal.reason === "stuck" && (
        <Callout kind="waits" title={goal.cause ? `It is stuck: ${goal.cause}.` : "It is stuck."}>
          Retry or accept a task, or let the planner plan again; then resume.
          {goal.check_at && ` Otherwise it fails at ${dayAndTime(goal.check_at)}.`}
        </Callout>
      )}
      {goal.state === "paused" && goal.reason === "budget" && (
        <Callout kind="waits" title="Its budget, its turns or its time are used up.">
          Raise the limit under “Edit…”, then resume.
        </Callout>
      )}
      {approvals.map((approval) => (
        <Callout
          key={approval.id}
          kind="waits"
          title="An agent asks for a permission."
          action={<ButtonLink href={addressOfApproval(approval.id)}>Review</ButtonLink>}
        >
          {approval.title}
        </Callout>
      ))}
      {questions.data?.items.map((question) => (
        <section key={question.id} className={css.question} aria-label={`Question of ${seatOf(question)}`}>
          <h2>
            <StatusGlyph look="waits" /> {seatOf(question)} asks
            <small>
              <Countdown until={question.deadline_at} /> left
            </small>
          </h2>
          <p className={css.prose}>{question.text}</p>
          <QuestionAnswer question={question} />
        </section>
      ))}
    </>
  );
}

function Facts({ goal }: { goal: Goal }) {
  const { tasks, usage, budget } = goal;
  const cost = costText(usage);
  const limit = costLimit(goal);
  const tokens = usage.tokens ?? null;
  const unreported = unreportedText(usage);
  return (
    <dl className={css.facts}>
      <Fact
        label="Tasks"
        value={String(tasks.done)}
        of={`of ${tasks.total}`}
        share={shareOf(tasks.done, tasks.total)}
        note={tasks.failed > 0 ? `${tasks.failed} failed` : null}
      />
      <Fact
        label="Cost"
        value={cost ?? "not reported"}
        of={limit === null ? null : `of ${limit}`}
        share={costShare(goal)}
        note={unreported}
      />
      {tokens !== null && (
        <Fact
          label="Tokens"
          value={count(tokens)}
          of={budget?.tokens ? `of ${count(budget.tokens)}` : null}
          share={budget?.tokens ? shareOf(tokens, budget.tokens) : null}
        />
      )}
      <Fact
        label="Turns"
        value={String(goal.turns)}
        of={`of ${goal.turn_limit}`}
        share={shareOf(goal.turns, goal.turn_limit)}
      />
      {goal.until && !isOver(goal) && <TimeLeft from={goal.created_at} until={goal.until} />}
    </dl>
  );
}

function TimeLeft({ from, until }: { from: string; until: string }) {
  const now = useNow(30_000);
  const left = Date.parse(until) - now;
  const whole = Date.parse(until) - Date.parse(from);
  return (
    <Fact
      label="Time left"
      value={left <= 0 ? "none" : duration(left)}
      of={null}
      note={`until ${dayAndTime(until)}`}
      share={shareOf(whole - left, whole)}
    />
  );
}

function Fact(props: {
  label: string;
  value: string;
  of: string | null;
  share: number | null;
  note?: string | null;
}) {
  const { label, value, of, share, note } = props;
  return (
    <div>
      <dt>{label}</dt>
      <dd>
        <span>
          <strong>{value}</strong> {of}
        </span>
        {share !== null && (
          <div
            className={css.meter}
            role="meter"
            aria-label={label}
            aria-valuenow={Math.round(share * 100)}
            aria-valuemin={0}
            aria-valuemax={100}
          >
            <span style={{ width: `${share * 100}%` }} />
          </div>
        )}
        {note && <small>{note}</small>}
      </dd>
    </div>
  );
}

const NARROW = "(max-width: 640px)";

function useNarrow(): boolean {
  return useSyncExternalStore(
    (changed) => {
      const query = matchMedia(NARROW);
      query.addEventListener("change", changed);
      return () => query.removeEventListener("change", changed);
    },
    () => matchMedia(NARROW).matches,
  );
}

const FORMS = [
  { value: "graph", label: "Graph" },
  { value: "list", label: "List" },
];

function TasksPanel(props: {
  goal: Goal;
  tasks: readonly Task[];
  chosen: string | null;
  onChoose(key: string): void;
  children: ReactNode;
}) {
  const { goal, tasks, chosen, onChoose, children } = props;
  const [form, setForm] = useFilter("view");
  const narrow = useNarrow();
  const shown = FORMS.find((each) => each.value === form)?.value ?? (narrow ? "list" : "graph");
  return (
    <Panel
      title="Tasks"
      aside={
        <>
          <Phases goal={goal} tasks={tasks} chosen={chosen} onChoose={onChoose} />
          <span className={css.space} />
          <Chips label="Form of the tasks" value={shown} options={FORMS} onChange={setForm} />
        </>
      }
    >
      {children}
      {tasks.length > 0 &&
        (shown === "graph" ? (
          <TaskGraph tasks={tasks} chosen={chosen} onChoose={onChoose} />
        ) : (
          <TaskList tasks={tasks} chosen={chosen} onChoose={onChoose} />
        ))}
    </Panel>
  );
}

/** The phases of the goal. Those with a task of their own show it. */
function Phases(props: {
  goal: Goal;
  tasks: readonly Task[];
  chosen: string | null;
  onChoose(key: string): void;
}) {
  const { goal, tasks, chosen, onChoose } = props;
  return (
    <ol className={css.phases} aria-label="Phases">
      {PHASES.map(({ kind, phase, label }) => {
        const own = tasks.filter((task) => task.kind === kind);
        // Earlier plans are over.
        const last = own.at(-1);
        const look = lookOfPhase(kind === "work" ? own : own.slice(-1));
        const current = !isOver(goal) && goal.phase === phase;
        return (
          <li key={kind} aria-current={current ? "step" : undefined}>
            <StatusGlyph look={look} title={look} />
            {kind !== "work" && last ? (
              <button
                type="button"
                className={css.link}
                aria-pressed={last.key === chosen}
                onClick={() => onChoose(last.key)}
              >
                {label}
              </button>
            ) : (
              <span>{label}</span>
            )}
            {kind === "work" && goal.tasks.total > 0 && (
              <small>
                {goal.tasks.done} of {goal.tasks.total}
              </small>
            )}
          </li>
        );
      })}
    </ol>
  );
}

/** The goal itself, while no task is chosen. */
function About({ goal }: { goal: Goal }) {
  const rows: [string, string | null][] = [
    ["Directory", goal.directory ?? "a folder of its own"],
    ["Plan", goal.plan_version === 0 ? "none yet" : `version ${goal.plan_version}`],
    ["Further plans", `${goal.replans} of ${goal.replan_limit}`],
    ["Begun", longTime(goal.created_at)],
    ["Ended", goal.ended_at ? longTime(goal.ended_at) : null],
    ["Key", goal.key ?? null],
  ];
  const checks = Object.entries(goal.checks);
  return (
    <section className={css.taskPanel} aria-label="About the goal">
      <header>
        <h2>Goal</h2>
      </header>
      <div className={css.taskBody}>
        <p className={css.prose}>{goal.goal}</p>
        <dl className={css.about}>
          {rows
            .filter(([, value]) => value !== null)
            .map(([label, value]) => (
              <div key={label}>
                <dt>{label}</dt>
                <dd>{value}</dd>
              </div>
            ))}
        </dl>
        {checks.length > 0 && (
          <>
            <h3>Checks by command</h3>
            <ul className={css.lines} aria-label="Checks by command">
              {checks.map(([name, command]) => (
                <li key={name}>
                  <span>
                    {name}
                    <small>
                      <code>{command}</code>
                    </small>
                  </span>
                </li>
              ))}
            </ul>
          </>
        )}
        <details className={css.limits}>
          <summary>Limits</summary>
          <dl className={css.about}>
            {Object.entries(goal.limits).map(([name, value]) => (
              <div key={name}>
                <dt>{limitLabel(name)}</dt>
                <dd>{value}</dd>
              </div>
            ))}
          </dl>
        </details>
      </div>
    </section>
  );
}

function Team({ goal, onChoose }: { goal: Goal; onChoose(key: string): void }) {
  return (
    <Panel title={`Team ${goal.team}`}>
      <ul className={css.seats} aria-label="Seats">
        {goal.seats.map((seat) => {
          const { look, word } = stateOfSeat(seat);
          return (
            <li key={seat.id}>
              <StatusGlyph look={look} />
              <span className={css.what}>
                <strong className="truncate">{seat.name}</strong>
                <small className="truncate">{seat.agent}</small>
              </span>
              <span>
                {word}
                {seat.task && (
                  <>
                    {", "}
                    <button type="button" className={css.link} onClick={() => onChoose(seat.task ?? "")}>
                      {seat.task}
                    </button>
                  </>
                )}
              </span>
              <Link
                href={`${addressOfSession(goal.id)}?seat=${encodeURIComponent(seat.name)}`}
                aria-label={`Message ${seat.name} in the conversation`}
              >
                Message
              </Link>
            </li>
          );
        })}
      </ul>
    </Panel>
  );
}

const TABS = ["messages", "artifacts", "memory"];

/** What the seats have written: messages, artifacts and memory. */
function Kept({ goal }: { goal: Goal }) {
  const [tab, setTab] = useFilter("tab");
  const shown = TABS.includes(tab) ? tab : "messages";
  return (
    <section className={css.kept} aria-label="Messages, artifacts and memory">
      <Tabs
        value={shown}
        onChange={setTab}
        tabs={[
          { value: "messages", label: "Messages", content: <Messages goal={goal} /> },
          {
            value: "artifacts",
            label: "Artifacts",
            content: (
              <Suspense fallback={<Skeleton rows={3} />}>
                <SessionArtifacts
                  session={goal.id}
                  empty={<NoLines>No artifact yet. Seats hand in files with the tool save_artifact.</NoLines>}
                />
              </Suspense>
            ),
          },
          {
            value: "memory",
            label: "Memory",
            content: (
              <Suspense fallback={<Skeleton rows={3} />}>
                <MemorySection owner={{ kind: "session", id: goal.id, name: goal.id }} links={null} />
              </Suspense>
            ),
          },
        ]}
      />
    </section>
  );
}

/** The report, which Matins writes from what is stored. It is open once the goal is over. */
function Report({ goal }: { goal: Goal }) {
  const over = isOver(goal);
  const [opened, setOpened] = useState(false);
  const open = over || opened;
  const report = useQuery({
    queryKey: [...keys.goal(goal.id), "report"],
    queryFn: ({ signal }) => get<GoalReport>(`/goals/${goal.id}/report`, {}, signal),
    enabled: open,
  });
  return (
    <Panel
      title={over ? "Report" : "Report so far"}
      aside={
        !over && (
          <Button size="small" onClick={() => setOpened(!opened)}>
            {opened ? "Hide" : "Show"}
          </Button>
        )
      }
    >
      {open && (
        <div className={css.report}>
          {report.error ? (
            <ErrorState error={report.error} onRetry={() => report.refetch()} />
          ) : report.data === undefined ? (
            <Skeleton rows={5} />
          ) : (
            // The head of the page has the title already.
            <Markdown text={report.data.text.replace(/^# .*\n+/, "")} />
          )}
        </div>
      )}
      {!open && <NoLines>{sentence("Matins writes it from the tasks, also while the goal works")}</NoLines>}
    </Panel>
  );
}
