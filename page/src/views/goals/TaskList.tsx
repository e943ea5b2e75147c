import type { Task } from "../../api/types";
import { Status } from "../../kit/Status";
import { Duration } from "../../kit/Time";
import { visible } from "../../kit/visible";
import css from "./goals.module.css";
import type { TaskGraphProps } from "./TaskGraph";
import { doneText } from "./task-text";
import { isHeld, kindText, reasonText, seatAndRound, stateOfTask } from "./words";

/** The tasks as a list, in the order in which they were made. */
export function TaskList({ tasks, chosen, onChoose }: TaskGraphProps) {
  return (
    <ul className={css.tasks} aria-label="Tasks">
      {tasks.map((task) => (
        <li key={task.key}>
          <button
            type="button"
            data-task={task.key}
            aria-pressed={task.key === chosen}
            onClick={() => onChoose(task.key)}
          >
            <Status {...stateOfTask(task)} />
            <span className={css.what}>
              <strong className="truncate">{visible(task.key)}</strong>
              <small className="truncate">{kindText(task) ?? visible(task.title)}</small>
            </span>
            <small className={css.aside}>
              {visible(detailOf(task))}
              {task.started_at && !isHeld(task) && (
                <>
                  {detailOf(task) !== "" && ", "}
                  <Duration from={task.started_at} to={task.ended_at ?? null} />
                </>
              )}
            </small>
          </button>
        </li>
      ))}
    </ul>
  );
}

function detailOf(task: Task): string {
  const reason = reasonText(task);
  if (task.status === "FAILED" && reason) return reason;
  if (task.waits_for) return `waits for ${task.waits_for}`;
  return [doneText(task), seatAndRound(task)].filter(Boolean).join(", ");
}
