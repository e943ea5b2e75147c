import { useQuery } from "@tanstack/react-query";
import { X } from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { Link } from "wouter";
import { keys } from "../../api/queries";
import type { Goal, Task, TaskDetails, TaskRun } from "../../api/types";
import { ActionDialog } from "../../kit/ActionDialog";
import { Button, ButtonLink, IconButton } from "../../kit/Button";
import { ErrorState, sentence } from "../../kit/ErrorState";
import { callerName, plural } from "../../kit/format";
import { Skeleton, TextField } from "../../kit/layout";
import { type Look, lookOfRun, Status, StatusGlyph } from "../../kit/Status";
import { Duration } from "../../kit/Time";
import { toast } from "../../kit/Toast";
import { visible, visibleLines } from "../../kit/visible";
import { useKey } from "../../shell/keys";
import { addressOfArtifacts, addressOfRun, addressOfSession } from "../addresses";
import { useRefusal } from "../refusal";
import { moveTask } from "./actions";
import { type Check, checksOf } from "./checks";
import { EditTask, readTask } from "./EditTask";
import css from "./goals.module.css";
import { acceptanceOf, doneText, factsOf, outsideEditsOf, reviewOf } from "./task-text";
import {
  isEditable,
  isReplaceable,
  mayBeInvented,
  movesOfTask,
  reasonText,
  resultOf,
  stateOfTask,
  type TaskMove,
} from "./words";

const WORDS: Record<TaskMove, string> = { retry: "Retry…", accept: "Accept as is…", cancel: "Cancel…" };

export interface TaskPanelProps {
  goal: Goal;
  task: Task;
  onChoose(key: string): void;
  onReplace(task: TaskDetails): void;
  onClose(): void;
}

/** A task: what it asks for, why it waits, what the judge found, and its runs. */
export function TaskPanel({ goal, task, onChoose, onReplace, onClose }: TaskPanelProps) {
  const refusal = useRefusal()("sessions:write");
  const [confirming, setConfirming] = useState<TaskMove | null>(null);
  const [editing, setEditing] = useState(false);
  const details = useQuery({
    queryKey: [...keys.goal(goal.id), "task", task.id],
    queryFn: ({ signal }) => readTask(task.id, signal),
  });
  const panel = useRef<HTMLElement>(null);
  useEffect(() => {
    // The panel lies below the tasks then.
    if (matchMedia("(max-width: 1100px)").matches) panel.current?.scrollIntoView({ block: "start" });
  }, []);
  useKey("Escape", onClose);
  const editable = isEditable(goal, task);
  const mayEdit = refusal === null && details.data !== undefined;
  useKey("e", editable ? () => mayEdit && setEditing(true) : null);
  const state = stateOfTask(task);
  const reason = task.status === "DONE" ? doneText(task) : reasonText(task);
  const lastRun = details.data?.task.runs.at(-1);
  const moves = movesOfTask(goal, task);
  return (
    <section ref={panel} className={css.taskPanel} aria-label={`Task ${visible(task.key)}`}>
      <header>
        <h2>{visible(task.key)}</h2>
        <Status {...state} />
        <span className={css.space} />
        <IconButton label="Close the task" onClick={onClose}>
          <X size={16} aria-hidden />
        </IconButton>
      </header>
      <div className={css.taskBody}>
        <p className={css.taskTitle}>{visible(task.title)}</p>
        <p className={css.note}>{factsOf(task)}</p>
        {task.waits_for && <p>Waits for {visible(task.waits_for)}.</p>}
        {task.depends_on.length > 0 && (
          <p className={css.note}>
            After{" "}
            {task.depends_on.map((key, index) => (
              <span key={key}>
                {index > 0 && ", "}
                <button type="button" className={css.link} onClick={() => onChoose(key)}>
                  {visible(key)}
                </button>
              </span>
            ))}
          </p>
        )}
        {reason && <p className={task.status === "FAILED" ? css.failed : css.note}>{sentence(reason)}</p>}
        {task.cause && (
          <>
            <h3>Why it failed</h3>
            <p className={css.prose}>{visibleLines(task.cause)}</p>
          </>
        )}
        {details.error ? (
          <ErrorState error={details.error} onRetry={() => details.refetch()} />
        ) : details.data === undefined ? (
          <Skeleton rows={5} />
        ) : (
          <Details goal={goal} task={details.data.task} />
        )}
      </div>
      {(moves.length > 0 || editable || lastRun !== undefined) && (
        <footer>
          {lastRun && (
            <ButtonLink href={`${addressOfSession(goal.id)}?run=${lastRun.id}`}>Conversation</ButtonLink>
          )}
          {editable && (
            <Button refusal={refusal} disabled={!mayEdit} onClick={() => setEditing(true)}>
              Edit…
            </Button>
          )}
          {isReplaceable(goal, task) && (
            <Button
              refusal={refusal}
              disabled={!mayEdit}
              onClick={() => details.data && onReplace(details.data.task)}
            >
              Replace…
            </Button>
          )}
          {moves.map((move) => (
            <Button key={move} refusal={refusal} onClick={() => setConfirming(move)}>
              {WORDS[move]}
            </Button>
          ))}
        </footer>
      )}
      {editing && details.data && <EditTask stored={details.data} onClose={() => setEditing(false)} />}
      {confirming && (
        <Confirm key={confirming} task={task} move={confirming} onClose={() => setConfirming(null)} />
      )}
    </section>
  );
}

const ACCEPTANCE_WORDS: Partial<Record<Look, string>> = {
  succeeded: "accepted",
  failed: "missed",
  queued: "not accepted",
};

function Details({ goal, task }: { goal: Goal; task: TaskDetails }) {
  const { lines: acceptance, others: findings } = acceptanceOf(task);
  const { checks, others } = checksOf(task);
  const result = resultOf(task);
  return (
    <>
      {task.description !== "" && (
        <>
          <h3>What it asks for</h3>
          <p className={css.prose}>{visibleLines(task.description)}</p>
        </>
      )}
      <Lines title="Must hold" lines={acceptance}>
        {(line) => (
          <>
            <StatusGlyph look={line.look} title={ACCEPTANCE_WORDS[line.look]} />
            <span>
              {visibleLines(line.text)}
              {line.findings.map(({ id, text }) => (
                <small key={id}>{visibleLines(text)}</small>
              ))}
            </span>
          </>
        )}
      </Lines>
      <Lines title="Checks by command" lines={checks}>
        {(check) => <CheckLine check={check} command={goal.checks[check.name] ?? ""} />}
      </Lines>
      <Lines title="Findings" lines={findings}>
        {(finding) => <FindingLine finding={finding} />}
      </Lines>
      <Lines title="Evidence" lines={task.evidence}>
        {(line) => <span>{visibleLines(line)}</span>}
      </Lines>
      <Lines title="Output of the checks" lines={others}>
        {(lines) => <pre className={css.output}>{visibleLines(lines)}</pre>}
      </Lines>
      {result && (
        <>
          <h3>Result</h3>
          <p className={css.prose}>{visibleLines(result)}</p>
        </>
      )}
      {mayBeInvented(task) && (
        <p className={css.note}>
          The agent called no tool: {result ? "the result" : "this cause of the failure"} may be invented.
        </p>
      )}
      <Lines title="Artifacts" lines={task.artifacts}>
        {(name) => <Link href={addressOfArtifacts(goal.id, name)}>{visible(name)}</Link>}
      </Lines>
      <Lines title="Writes" lines={task.writes}>
        {(path) => <code>{visible(path)}</code>}
      </Lines>
      <Lines title="Edits outside its paths" lines={outsideEditsOf(task)}>
        {(edit) => (typeof edit === "number" ? `and ${edit} more` : <code>{visible(edit)}</code>)}
      </Lines>
      <Lines title="Runs" lines={task.runs}>
        {(run) => <RunLine run={run} task={task} />}
      </Lines>
    </>
  );
}

function CheckLine({ check: { name, look, end, lastLines }, command }: { check: Check; command: string }) {
  return (
    <>
      <StatusGlyph look={look} />
      <span>
        <code>{visible(name)}</code> {visible(end)}
        <small>
          <code>{visible(command)}</code>
        </small>
        {lastLines !== "" && (
          <details open={look !== "succeeded"}>
            <summary>Last lines</summary>
            <pre className={css.output}>{visibleLines(lastLines)}</pre>
          </details>
        )}
      </span>
    </>
  );
}

function FindingLine({ finding: { severity, text, from } }: { finding: TaskDetails["findings"][number] }) {
  return (
    <>
      <StatusGlyph look={severity === "blocker" ? "failed" : "skipped"} />
      <span>
        {visibleLines(text)}
        <small>
          {severity}, from {callerName(from)}
        </small>
      </span>
    </>
  );
}

function RunLine({ run, task }: { run: TaskRun; task: TaskDetails }) {
  const { word, findings, evidence } = reviewOf(run, task);
  return (
    <>
      <Status look={lookOfRun({ status: run.status, worker_id: null })} />
      <span>
        <Link href={addressOfRun(run.id)}>{run.prompt?.replaceAll("_", " ") ?? "turn"}</Link>
        {word && `, ${word}`}
        <small>
          {run.seat}
          {run.started_at && (
            <>
              , <Duration from={run.started_at} to={run.ended_at ?? null} />
            </>
          )}
        </small>
        <Folded title={plural(findings.length, "finding")} lines={findings}>
          {(finding) => <FindingLine finding={finding} />}
        </Folded>
        <Folded title={`${plural(evidence.length, "line")} of evidence`} lines={evidence}>
          {(line) => <span>{visibleLines(line)}</span>}
        </Folded>
      </span>
    </>
  );
}

interface LinesProps<T> {
  title: string;
  lines: readonly T[];
  children(line: T): ReactNode;
}

function Lines<T>(props: LinesProps<T>) {
  if (props.lines.length === 0) return null;
  return (
    <>
      <h3>{props.title}</h3>
      <Items {...props} />
    </>
  );
}

function Folded<T>(props: LinesProps<T>) {
  if (props.lines.length === 0) return null;
  return (
    <details>
      <summary>{props.title}</summary>
      <Items {...props} />
    </details>
  );
}

function Items<T>({ title, lines, children }: LinesProps<T>) {
  return (
    <ul className={css.lines} aria-label={title}>
      {lines.map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines have no identity but their place.
        <li key={index}>{children(line)}</li>
      ))}
    </ul>
  );
}

const QUESTIONS: Record<TaskMove, { title: string; note: string; action: string; done: string }> = {
  retry: {
    title: "Retry",
    note: "It gets new attempts. Tasks that wait for it go on once it is done.",
    action: "Retry",
    done: "is retried",
  },
  accept: {
    title: "Accept",
    note: "Its present result counts as done, without a further review. Tasks that wait for it go on.",
    action: "Accept",
    done: "is accepted",
  },
  cancel: {
    title: "Cancel",
    note: "It will not be done, and neither will the tasks that wait for it. This cannot be undone.",
    action: "Cancel the task",
    done: "is cancelled",
  },
};

const COMMENT_CHARS = 8192;

function Confirm({ task, move, onClose }: { task: Task; move: TaskMove; onClose(): void }) {
  const [comment, setComment] = useState("");
  const [leaves, setLeaves] = useState(false);
  const { title, note, action, done } = QUESTIONS[move];
  return (
    <ActionDialog
      title={`${title} “${task.key}”?`}
      note={note}
      action={action}
      kind={move === "cancel" ? "danger" : "primary"}
      dismiss={move === "cancel" ? "Keep" : "Back"}
      act={async () => {
        await moveTask(task, move, comment);
        toast(`${task.key} ${done}`);
      }}
      onClose={onClose}
      onDismiss={() => (comment.trim() === "" ? onClose() : setLeaves(true))}
    >
      <TextField
        label="Comment (optional)"
        name="comment"
        rows={3}
        maxLength={COMMENT_CHARS}
        value={comment}
        note="The planner gets it as a message."
        onChange={(event) => setComment(event.target.value)}
      />
      {leaves && (
        <ActionDialog
          title="Discard your comment?"
          note="The task stays as it is."
          action="Discard"
          dismiss="Keep editing"
          act={async () => onClose()}
          onClose={() => setLeaves(false)}
        />
      )}
    </ActionDialog>
  );
}
