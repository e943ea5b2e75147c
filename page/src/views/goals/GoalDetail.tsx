import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { Link, Redirect } from "wouter";
import { get } from "../../api/client";
import { hasStatus } from "../../api/problem";
import { keys } from "../../api/queries";
import type { Goal, GoalReport, Task, TaskDetails } from "../../api/types";
import { Button } from "../../kit/Button";
import { Copy } from "../../kit/Copy";
import { ErrorState, sentence } from "../../kit/ErrorState";
import { NoLines } from "../../kit/List";
import { EmptyState, Panel, Skeleton } from "../../kit/layout";
import { visibleLines } from "../../kit/visible";
import { useKey } from "../../shell/keys";
import { addressOfGoal } from "../addresses";
import { Markdown } from "../conversations/Markdown";
import { useFilter } from "../filter";
import { useRefusal } from "../refusal";
import { fileName, saveText } from "../save";
import { About, Team } from "./GoalAbout";
import { Facts } from "./GoalFacts";
import { Head, Notices } from "./GoalHead";
import { storedGoalOf, taskListOf } from "./goal-queries";
import css from "./goals.module.css";
import { Kept } from "./Kept";
import { NewTask } from "./NewTask";
import { TaskPanel } from "./TaskPanel";
import { TasksPanel } from "./TasksPanel";
import { isEditable, isOver, titleOfGoal } from "./words";

/** The route `/goals/:id`. */
export default function GoalDetail({ params }: { params: { id: string } }) {
  const { id } = params;
  const stored = useQuery(storedGoalOf(id));
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
  const list = useQuery(taskListOf(goal));
  const tasks = list.data?.tasks ?? NONE;
  const chosen = tasks.find((task) => task.key === chosenKey) ?? null;
  const onChoose = (key: string) => choose(key === chosenKey ? "" : key);
  const work = useRef<HTMLDivElement>(null);
  const focusTask = (key: string) => {
    // A phase comes before the same task in the graph, which leaves plans out, or in the list.
    const found = work.current?.querySelectorAll<HTMLElement>(`[data-task="${CSS.escape(key)}"]`);
    Array.from(found ?? [])
      .at(-1)
      ?.focus();
  };
  const closeTask = (key: string) => {
    // The panel takes its button away, which has the focus.
    focusTask(key);
    choose("");
  };
  const refusal = useRefusal()("sessions:write");
  const over = isOver(goal);
  const [adding, setAdding] = useState<{ replaced: TaskDetails | null } | null>(null);
  const [added, setAdded] = useState<{ key: string; takesFocus: boolean } | null>(null);
  const mayAdd = refusal === null && list.data !== undefined;
  useKey("n", over ? null : () => mayAdd && setAdding({ replaced: null }));
  // biome-ignore lint/correctness/useExhaustiveDependencies: once the list has the task.
  useEffect(() => {
    if (added === null || tasks.every(({ key }) => key !== added.key)) return;
    choose(added.key);
    setAdded(null);
    // The panel of a replaced task takes its button away, which had the focus.
    if (added.takesFocus) focusTask(added.key);
  }, [added, tasks]);
  return (
    <div className={css.detail}>
      <Head goal={goal} etag={etag} editsTask={chosen !== null && isEditable(goal, chosen)} />
      <Notices goal={goal} tasks={list.data?.tasks ?? null} onChoose={choose} />
      <Facts goal={goal} />
      <div ref={work} className={css.work}>
        <TasksPanel
          goal={goal}
          tasks={tasks}
          chosen={chosen?.key ?? null}
          onChoose={onChoose}
          action={
            !over && (
              <Button
                size="small"
                refusal={refusal}
                disabled={!mayAdd}
                onClick={() => setAdding({ replaced: null })}
              >
                Add a task…
              </Button>
            )
          }
        >
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
              onReplace={(replaced) => setAdding({ replaced })}
              onClose={() => closeTask(chosen.key)}
            />
          )}
        </aside>
        <div className={css.below}>
          <Team goal={goal} onChoose={choose} />
          <Kept goal={goal} />
        </div>
      </div>
      <Report goal={goal} />
      {adding !== null && list.data !== undefined && (
        <NewTask
          goal={goal}
          list={list.data}
          replaced={adding.replaced}
          onAdded={(key) => setAdded({ key, takesFocus: adding.replaced !== null })}
          onClose={() => setAdding(null)}
        />
      )}
    </div>
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
        <>
          <span className={css.space} />
          {open && report.data !== undefined && (
            <>
              <Copy text={report.data.text} />
              <Button
                size="small"
                title="Save the report as a Markdown file"
                onClick={() => saveText(report.data.text, fileName(titleOfGoal(goal), "md"), "text/markdown")}
              >
                Download
              </Button>
            </>
          )}
          {!over && (
            <Button size="small" onClick={() => setOpened(!opened)}>
              {opened ? "Hide" : "Show"}
            </Button>
          )}
        </>
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
            <Markdown text={visibleLines(report.data.text.replace(/^# .*\n+/, ""))} />
          )}
        </div>
      )}
      {!open && <NoLines>{sentence("Matins writes it from the tasks, also while the goal works")}</NoLines>}
    </Panel>
  );
}
