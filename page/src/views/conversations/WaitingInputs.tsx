import { Pencil, X } from "lucide-react";
import { useState } from "react";
import type { Automation, Goal, OpenRun, SessionView } from "../../api/types";
import { IconButton } from "../../kit/Button";
import { clock, dayAndTime } from "../../kit/format";
import { visible } from "../../kit/visible";
import css from "./conversation.module.css";
import { EditWaiting } from "./EditWaiting";
import { taskOfInput, waitingOf, waitReason } from "./inputs";
import { namesOfSeats } from "./items";
import { triggerKind } from "./rows";

export interface WaitingInputsProps {
  view: SessionView;
  goal: Goal | null;
  automations: Automation[];
  refusal: string | null;
  /** `true` if the conversation takes no more inputs. */
  closed: boolean;
  onCancel(run: OpenRun): void;
  /** Takes the text of an edit that ends without a save. */
  onGone(text: string): void;
}

/** The inputs that wait for a turn, each with its edit and its removal. */
export function WaitingInputs(props: WaitingInputsProps) {
  const { view, goal, automations, refusal, closed, onCancel, onGone } = props;
  /** The ID of the run whose message is being edited. */
  const [editing, setEditing] = useState<string | null>(null);
  const waiting = waitingOf(view.open_runs);
  const seats = namesOfSeats(view.seats);
  if (waiting.length === 0) return null;
  return (
    <ol className={css.waiting} aria-label="Waiting inputs">
      {waiting.map((run, index) => {
        // A message that waits for its next attempt is in the transcript already.
        const canEdit = run.origin === "person" && run.attempt === 1 && !closed;
        return (
          <li key={run.id}>
            <span>{index + 1}</span>
            {canEdit && editing === run.id ? (
              <EditWaiting run={run} onClose={() => setEditing(null)} onGone={onGone} />
            ) : (
              <>
                <InputText
                  run={run}
                  task={taskOfInput(run, goal)}
                  seat={seats.get(run.seat_id ?? "")}
                  automations={automations}
                />
                <small>{waitReason(run)}</small>
                {canEdit && (
                  <IconButton
                    label="Edit this input"
                    disabled={refusal !== null}
                    onClick={() => setEditing(run.id)}
                  >
                    <Pencil size={16} aria-hidden />
                  </IconButton>
                )}
                <IconButton
                  label={
                    run.origin === "task"
                      ? "Cancel this turn, so that its task waits for you"
                      : "Cancel this input"
                  }
                  disabled={refusal !== null}
                  onClick={() => onCancel(run)}
                >
                  <X size={16} aria-hidden />
                </IconButton>
              </>
            )}
          </li>
        );
      })}
    </ol>
  );
}

function InputText(props: {
  run: OpenRun;
  task: string | null;
  /** The seat that takes the input, if the conversation has several. */
  seat: string | undefined;
  automations: Automation[];
}) {
  const { run, task, seat, automations } = props;
  const receiver = seat !== undefined && <small>for {visible(seat)}</small>;
  // The prompt of a task is long, and no person wrote it.
  if (run.origin === "task") {
    return (
      <span className="truncate">
        {task === null ? "A task" : <strong>{visible(task)}</strong>} {receiver}
      </span>
    );
  }
  // The answer to a question of an automation has no trigger.
  if (run.automation_id === null || run.origin === "person") {
    return (
      <span className="truncate" title={run.content}>
        {run.content} {receiver}
      </span>
    );
  }
  const kind = triggerKind(automations, run.trigger_id);
  const source =
    kind === "webhook"
      ? `webhook at ${clock(run.created_at)}`
      : kind === "manual" || run.scheduled_for == null
        ? `by hand at ${clock(run.created_at)}`
        : `due ${dayAndTime(run.scheduled_for)}`;
  const automation = automations.find((each) => each.id === run.automation_id);
  return (
    <span className="truncate" title={run.content}>
      <strong>{visible(automation?.name ?? "automation")}</strong> {source} {receiver}
    </span>
  );
}
