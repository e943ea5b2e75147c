/** The head of a goal with its actions, and what needs a person. */
import { useQuery } from "@tanstack/react-query";
import { ChevronRight, Ellipsis } from "lucide-react";
import { Fragment, useRef, useState } from "react";
import { Link } from "wouter";
import { get } from "../../api/client";
import { keys, useApprovals, usePermission, useQuestionsOf } from "../../api/queries";
import type { Goal, Question, Task } from "../../api/types";
import { ActionDialog } from "../../kit/ActionDialog";
import { Button, ButtonLink, IconButton } from "../../kit/Button";
import { copyText } from "../../kit/clipboard";
import { Callout } from "../../kit/ErrorState";
import { dayAndTime, plural } from "../../kit/format";
import { Menu } from "../../kit/Menu";
import { Status, StatusGlyph } from "../../kit/Status";
import { Countdown, Duration, Time } from "../../kit/Time";
import { toast } from "../../kit/Toast";
import { visible, visibleLines } from "../../kit/visible";
import { useKey } from "../../shell/keys";
import { addressOfApproval, addressOfSession } from "../addresses";
import { useInert } from "../approvals/decision";
import { QuestionAnswer } from "../approvals/Questions";
import { useRefusal } from "../refusal";
import { moveGoal, postMove } from "./actions";
import { EditGoal } from "./EditGoal";
import css from "./goals.module.css";
import { adviceOf, endedText, reachedField, replanText } from "./moves";
import {
  directMoveOf,
  isOver,
  movesOf,
  openTasks,
  reachedText,
  replanRefusal,
  stateOfGoal,
  titleOfGoal,
  toggleOf,
} from "./words";

export function Head(props: {
  goal: Goal;
  etag: string | null;
  /** `true` if the key of "Edit" edits a task. */
  editsTask: boolean;
}) {
  const { goal, etag, editsTask } = props;
  const refusal = useRefusal()("sessions:write");
  const [dialog, setDialog] = useState<"cancel" | "replan" | "edit" | "raise" | null>(null);
  const onClose = () => setDialog(null);
  const state = stateOfGoal(goal);
  const moves = movesOf(goal);
  const needsLimit = goal.state === "paused" && goal.reason === "budget";
  const direct = directMoveOf(goal);
  const directButton = useRef<HTMLButtonElement>(null);
  const inert = useInert(direct?.word ?? "", directButton);
  const over = isOver(goal);
  const toggle = toggleOf(goal);
  useKey("p", () => refusal === null && toggle !== null && moveGoal(goal, toggle));
  useKey("e", editsTask ? null : () => refusal === null && !over && setDialog("edit"));
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
          {over ? (
            <>
              took <Duration from={goal.created_at} to={goal.ended_at ?? null} />
            </>
          ) : (
            <>
              {goal.state === "draft" ? "created" : "begun"} <Time at={goal.created_at} />
            </>
          )}
        </small>
        <div className={css.headActions}>
          <ButtonLink size="large" href={addressOfSession(goal.id)}>
            Conversation
          </ButtonLink>
          {needsLimit && (
            <Button size="large" kind="primary" refusal={refusal} onClick={() => setDialog("raise")}>
              Raise the limit…
            </Button>
          )}
          {direct !== null && (
            <Button
              ref={directButton}
              size="large"
              kind={direct.move === "pause" ? "ordinary" : "primary"}
              refusal={refusal}
              aria-disabled={inert}
              onClick={() => !inert && moveGoal(goal, direct.move)}
            >
              {direct.word}
            </Button>
          )}
          {moves.includes("cancel") && (
            <Button size="large" refusal={refusal} onClick={() => setDialog("cancel")}>
              Cancel…
            </Button>
          )}
          <Menu
            trigger={
              <IconButton label="Actions of the goal" bordered>
                <Ellipsis size={16} aria-hidden />
              </IconButton>
            }
            items={[
              ...(over ? [] : [{ label: "Edit…", refusal, onSelect: () => setDialog("edit") }]),
              ...(needsLimit
                ? [{ label: "Resume", refusal, onSelect: () => void moveGoal(goal, "resume") }]
                : []),
              ...(moves.includes("replan")
                ? [
                    {
                      label: "Plan again…",
                      refusal: refusal ?? replanRefusal(goal),
                      onSelect: () => setDialog("replan"),
                    },
                  ]
                : []),
              { label: "Copy the ID", onSelect: () => void copyText(goal.id) },
            ]}
          />
        </div>
      </div>
      {dialog === "cancel" && (
        <ActionDialog
          title={`Cancel “${titleOfGoal(goal)}”?`}
          note={`Its running turns are asked to stop, and ${plural(openTasks(goal), "open task")} will not be done. Files and the report stay. A cancelled goal cannot go on.`}
          action="Cancel the goal"
          act={async () => {
            await postMove(goal, "cancel");
            toast(`${titleOfGoal(goal)} is cancelled`);
          }}
          ended={endedText}
          onClose={onClose}
        />
      )}
      {dialog === "replan" && (
        <ActionDialog
          title="Plan again?"
          note={`The planner takes one more turn and may add, replace and cancel tasks. ${goal.replans} of ${plural(goal.replan_limit, "further plan")} ${goal.replans === 1 ? "was" : "were"} made.${goal.state === "paused" && goal.reason !== "stuck" ? ` It is paused. ${replanText(goal)}.` : ""}`}
          action="Plan again"
          kind="primary"
          dismiss="Back"
          act={async () => {
            toast(replanText(await postMove(goal, "replan")));
          }}
          onClose={onClose}
        />
      )}
      {(dialog === "edit" || dialog === "raise") && (
        <EditGoal
          goal={goal}
          etag={etag}
          firstField={dialog === "raise" ? reachedField(goal) : null}
          raises={dialog === "raise"}
          onClose={onClose}
        />
      )}
    </header>
  );
}

/** What needs a person: questions, permissions, and the cause of a pause. */
export function Notices(props: {
  goal: Goal;
  /** Null until the list of tasks is there. */
  tasks: readonly Task[] | null;
  onChoose(key: string): void;
}) {
  const { goal, tasks, onChoose } = props;
  const may = usePermission();
  const reached = reachedText(goal);
  const permitted = may("approvals:read");
  const approvals = (useApprovals(permitted).data?.items ?? []).filter(
    (approval) => approval.session_id === goal.id,
  );
  const pending = useQuestionsOf(goal.id, permitted).data?.items ?? [];
  // The question that a person is answering stays when another person was faster.
  const [answering, setAnswering] = useState<Question | null>(null);
  const isClosed = answering !== null && pending.every((question) => question.id !== answering.id);
  const shown = isClosed ? [answering, ...pending] : pending;
  const seatOf = (question: Question) =>
    goal.seats.find((seat) => seat.id === question.seat_id)?.name ?? "A seat";
  return (
    <>
      {goal.state === "paused" && goal.reason === "approve_plan" && (
        <Callout kind="waits" title="The plan waits for you.">
          {plural(goal.tasks.total, "task")} so far. No further work begins until you approve it. Add and edit
          tasks, or cancel those that you do not want. The planner answers messages at once, but “Plan again…”
          waits until you approve the plan.
        </Callout>
      )}
      {goal.state === "paused" && goal.reason === "stuck" && (
        <Callout kind="waits" title={goal.cause ? `It is stuck: ${goal.cause}.` : "It is stuck."}>
          {tasks !== null && <StuckText goal={goal} tasks={tasks} onChoose={onChoose} />}
          {goal.check_at &&
            ` ${tasks === null ? "It" : "Otherwise it"} fails at ${dayAndTime(goal.check_at)}.`}
        </Callout>
      )}
      {goal.state === "paused" && goal.reason === "budget" && (
        <Callout kind="waits" title="A limit is reached.">
          {reached && `${reached}. `}
          Raise the limit, and it goes on.
        </Callout>
      )}
      {approvals.map((approval) => (
        <Callout
          key={approval.id}
          kind="waits"
          title="An agent asks for a permission."
          action={<ButtonLink href={addressOfApproval(approval.id)}>Review</ButtonLink>}
        >
          {visible(approval.title)}
        </Callout>
      ))}
      {shown.map((question) => (
        <QuestionBox
          key={question.id}
          question={question}
          isPending={pending.includes(question)}
          seat={seatOf(question)}
          onFocus={() => setAnswering(question)}
          onDone={() => setAnswering((now) => (now?.id === question.id ? null : now))}
        />
      ))}
    </>
  );
}

function StuckText(props: { goal: Goal; tasks: readonly Task[]; onChoose(key: string): void }) {
  const { goal, tasks, onChoose } = props;
  const advice = adviceOf(goal, tasks);
  return (
    <>
      {advice.tasks.map(({ id, key }, index) => (
        <Fragment key={id}>
          {index > 0 && ", "}
          <button type="button" className={css.link} onClick={() => onChoose(key)}>
            {visible(key)}
          </button>
        </Fragment>
      ))}
      {advice.tasks.length > 0 && ": "}
      {advice.text}
    </>
  );
}

function QuestionBox(props: {
  question: Question;
  isPending: boolean;
  seat: string;
  onFocus(): void;
  /** Called after an answer of this page, or when the person closes a question that has ended. */
  onDone(): void;
}) {
  const { question, isPending, seat } = props;
  const ended = useQuery({
    queryKey: [...keys.questions, question.id],
    queryFn: ({ signal }) => get<Question>(`/questions/${question.id}`, {}, signal),
    enabled: !isPending,
  });
  return (
    <section className={css.question} aria-label={`Question of ${seat}`} onFocus={props.onFocus}>
      <h2>
        <StatusGlyph look={isPending ? "waits" : "skipped"} /> {seat} {isPending ? "asks" : "asked"}
        {isPending && (
          <small>
            <Countdown until={question.deadline_at} /> left
          </small>
        )}
      </h2>
      <p className={css.prose}>{visibleLines(question.text)}</p>
      <QuestionAnswer question={isPending ? question : (ended.data ?? question)} onAnswered={props.onDone} />
      {!isPending && (
        <div>
          <Button onClick={props.onDone}>Close</Button>
        </div>
      )}
    </section>
  );
}
