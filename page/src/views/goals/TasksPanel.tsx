import { type ReactNode, useSyncExternalStore } from "react";
import type { Goal, Task } from "../../api/types";
import { Chips } from "../../kit/List";
import { Panel } from "../../kit/layout";
import { StatusGlyph } from "../../kit/Status";
import { useFilter } from "../filter";
import css from "./goals.module.css";
import { TaskGraph } from "./TaskGraph";
import { TaskList } from "./TaskList";
import { isOver, lookOfPhase, PHASES } from "./words";

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

export function TasksPanel(props: {
  goal: Goal;
  tasks: readonly Task[];
  chosen: string | null;
  onChoose(key: string): void;
  /** A button beside the choice of the form. */
  action: ReactNode;
  children: ReactNode;
}) {
  const { goal, tasks, chosen, onChoose, action, children } = props;
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
          {action}
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
        const look = lookOfPhase(goal, kind === "work" ? own : own.slice(-1));
        const current = !isOver(goal) && goal.phase === phase;
        return (
          <li key={kind} aria-current={current ? "step" : undefined}>
            <StatusGlyph look={look} title={look} />
            {kind !== "work" && last ? (
              <button
                type="button"
                data-task={last.key}
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
