/** Texts about tasks: who accepted them, which lines they miss, and what the graph tells of them. */
import type { Task, TaskDetails, TaskRun } from "../../api/types";
import { duration, plural } from "../../kit/format";
import type { Look } from "../../kit/Status";
import { visible } from "../../kit/visible";
import { DEFAULT_PRIORITY } from "./task-form";
import { kindText, roundText, seatAndRound, stateOfTask } from "./words";

/** Returns what the panel of a task says below its title, such as `worker, worker-1, round 2 of 3, optional`. */
export function factsOf(task: Task): string {
  const { kind, role, attempts, priority, optional, review } = task;
  const facts = [
    kindText(task),
    kind === "work" && role,
    seatAndRound(task),
    attempts > 0 && plural(attempts, "failed attempt"),
    kind === "work" && priority !== DEFAULT_PRIORITY && `priority ${priority}`,
    optional && "optional",
    review && "reviewed by the judge",
  ];
  return visible(facts.filter(Boolean).join(", "));
}

/** The words of the report. */
const DONE_BY: Partial<Record<string, string>> = {
  result: "reported by its agent",
  judge: "accepted by the judge",
  person: "accepted by a person",
  unreported: "answer without a report",
};

/** Says how a task came to be done. Null if it is not done, and for plans and reports, which have no judge. */
export const doneText = ({ kind, status, reason }: Pick<Task, "kind" | "status" | "reason">): string | null =>
  (status === "DONE" && (kind === "work" || kind === "check") && DONE_BY[reason ?? ""]) || null;

/** `true` if the judge or a person has accepted the result of a task. */
const isAccepted = ({ status, reason }: Pick<Task, "status" | "reason">): boolean =>
  status === "DONE" && (reason === "judge" || reason === "person");

type Finding = TaskDetails["findings"][number];

interface Acceptance {
  /** The acceptance lines, each with the findings of the last round about it. */
  lines: { text: string; look: Look; findings: Finding[] }[];
  /** The findings about no line. */
  others: Finding[];
}

/** Returns how the result of a task meets its acceptance lines. Of an accepted one, findings are notes. */
export function acceptanceOf(
  task: Pick<TaskDetails, "status" | "reason" | "acceptance" | "findings">,
): Acceptance {
  const { acceptance, findings } = task;
  if (isAccepted(task)) {
    const lines = acceptance.map((text) => ({ text, look: "succeeded" as const, findings: [] }));
    return { lines, others: findings };
  }
  const others = new Set(findings);
  const lines = acceptance.map((text, index) => {
    const own = findings.filter(({ criterion }) => criterion === index + 1);
    for (const finding of own) others.delete(finding);
    const look: Look = own.some(({ severity }) => severity === "blocker") ? "failed" : "queued";
    return { text, look, findings: own };
  });
  return { lines, others: [...others] };
}

const VERDICTS = { accept: "accepted", send_back: "sent back" } as const;

interface Review {
  /** Null without a verdict. */
  word: string | null;
  findings: Finding[];
  evidence: string[];
}

/** Returns the verdict of a run. That of the last review leaves out what the panel shows of the last round. */
export function reviewOf(run: TaskRun, task: Pick<TaskDetails, "runs" | "findings" | "evidence">): Review {
  // A server of the version before sends neither.
  const { verdict = null, findings = [], evidence = [] } = run as Partial<TaskRun>;
  const word = verdict && VERDICTS[verdict];
  if (task.runs.findLast((each) => each.verdict)?.id !== run.id) return { word, findings, evidence };
  return {
    word,
    findings: findings.filter(
      (own) => !task.findings.some(({ id, text }) => id === own.id && text === own.text),
    ),
    evidence: evidence.filter((own) => !task.evidence.includes(own)),
  };
}

/** Returns the edits of agents outside of the paths of a task. The number at the end counts those that the server leaves out. */
export function outsideEditsOf(
  task: Pick<TaskDetails, "edits_outside_writes" | "more_edits_outside_writes">,
): (string | number)[] {
  // A server of the version before sends neither.
  const { edits_outside_writes: paths = [], more_edits_outside_writes: more = 0 } =
    task as Partial<TaskDetails>;
  return more > 0 ? [...paths, more] : paths;
}

/** The time that a task has taken until its end, or until now. Null if it has not begun. */
function timeText({ started_at: start, ended_at: end }: Pick<Task, "started_at" | "ended_at">, now: number) {
  return start ? duration((end ? Date.parse(end) : now) - Date.parse(start)) : null;
}

/**
 * Returns the line of the graph below the key of a task: the thing for which it waits, else its step with its seat. While it
 * works and once it is over, its seat with its time or, from the second round on, with its round.
 */
export function nodeText(task: Task, now: number): string {
  const { look, word } = stateOfTask(task);
  if (task.waits_for && look !== "waits") return `waits for ${briefWait(visible(task.waits_for))}`;
  // The line has room for two of them.
  const parts =
    task.status === "RUNNING" && task.step !== "work"
      ? [word, task.seat]
      : [task.seat, roundText(task.round, task.round_limit) ?? timeText(task, now)];
  return parts.filter(Boolean).join(", ") || word;
}

/** Leaves out what the name of the task says as well. */
const briefWait = (text: string): string =>
  text
    .replace(/(, which |, all of |: ).*/, "")
    .replace(/^the seat /, "")
    .replace(/^a seat with the role /, "any ");

/** Returns all that the graph tells of a task, as the name for screen readers and as the tooltip. */
export function nodeName(task: Task): string {
  const waits = task.waits_for && `waits for ${visible(task.waits_for)}`;
  // The time of a task that runs would change the name each second.
  const time = task.ended_at && timeText(task, Date.now());
  const parts = [visible(task.key), stateOfTask(task).word, seatAndRound(task), time, waits];
  return parts.filter(Boolean).join(", ");
}
