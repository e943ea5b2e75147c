import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { get } from "../../api/client";
import { keys } from "../../api/queries";
import type {
  Automation,
  FailureGroup,
  Needs as NeedsData,
  Page,
  RunItem,
  WaitingApproval,
  WaitingGoal,
  WaitingQuestion,
} from "../../api/types";
import { Button, ButtonLink } from "../../kit/Button";
import { sentence } from "../../kit/ErrorState";
import { briefReason, clock, dayAndTime, localTimes, plural } from "../../kit/format";
import listCss from "../../kit/list.module.css";
import { type Look, lookOfRun, StatusGlyph, wordOf } from "../../kit/Status";
import { Countdown } from "../../kit/Time";
import { visible, visibleLines } from "../../kit/visible";
import {
  addressOfApproval,
  addressOfAutomation,
  addressOfGoal,
  addressOfQuestion,
  addressOfRun,
} from "../addresses";
import { answerText } from "../approvals/answering";
import { addressOfReachedBudget, fireAutomation, isProposed, resumeAutomation } from "../automation-actions";
import { asText, mainField } from "../conversations/tools";
import { titleOfGoal } from "../goals/words";
import { useRefusal } from "../refusal";
import { retryRun } from "../run-actions";
import { goalOf } from "../runs/words";
import { needOfGoal } from "./goal-needs";
import css from "./overview.module.css";

/** The rows that are shown before "more", so that the first screen holds the whole overview. */
const FIRST_ROWS = window.innerHeight < 900 ? 4 : 6;

/** What needs a person: approvals and questions by their deadlines, goals, failures, automations that stopped, and what
 * did not run. */
export function Needs({ needs }: { needs: NeedsData }) {
  const [whole, setWhole] = useState(false);
  const open = needs.failures.filter((group) => !group.recovered);
  const recovered = needs.failures.length - open.length;
  // An automation that stopped itself says so in its own row, with the reason.
  const stopped = new Set(needs.automations.map((automation) => automation.id));
  const failures = open.filter((group) => group.automation_id === null || !stopped.has(group.automation_id));
  const rows: { key: string; row: ReactNode }[] = [
    ...approvalsByRun(needs.approvals).map((group) => ({
      key: group[0]?.id ?? "",
      row: <ApprovalRow approvals={group} />,
    })),
    ...(needs.questions ?? []).map((question) => ({
      key: question.id,
      row: <QuestionRow question={question} />,
    })),
    ...(needs.goals ?? []).map((goal) => ({ key: goal.id, row: <GoalRow goal={goal} /> })),
    ...failures.filter((group) => !isMissed(group)).map(failureRow),
    ...needs.automations.map((automation) => ({
      key: automation.id,
      row: <StoppedRow automation={automation} />,
    })),
    ...failures.filter(isMissed).map(failureRow),
  ];
  const shown = whole ? rows : rows.slice(0, FIRST_ROWS);
  const hidden = rows.length - shown.length;
  return (
    <section className={css.panel} aria-label="Needs you">
      <header>
        <h2>Needs you</h2>
        <span>
          {rows.length}
          {needs.cut && "+"}
        </span>
      </header>
      {rows.length === 0 && (
        <p className={css.nothing}>
          <StatusGlyph look="succeeded" /> Nothing needs you.
        </p>
      )}
      <ul className={listCss.lines}>
        {shown.map(({ key, row }) => (
          <li key={key}>{row}</li>
        ))}
      </ul>
      {(hidden > 0 || recovered > 0) && (
        <footer>
          {hidden > 0 && (
            <button type="button" className={css.more} onClick={() => setWhole(true)}>
              {hidden} more
            </button>
          )}
          {recovered > 0 && <span>{plural(recovered, "failure")} followed by a success</span>}
        </footer>
      )}
    </section>
  );
}

const isMissed = (group: FailureGroup): boolean => lookOfRun(group) === "missed";

const failureRow = (group: FailureGroup) => ({ key: group.last.run_id, row: <FailureRow group={group} /> });

/** The requests of one run together, because one visit answers them. */
function approvalsByRun(approvals: WaitingApproval[]): WaitingApproval[][] {
  const groups = new Map<string, WaitingApproval[]>();
  for (const approval of approvals) {
    groups.set(approval.run_id, [...(groups.get(approval.run_id) ?? []), approval]);
  }
  return [...groups.values()];
}

function Row(props: { look: Look; title: ReactNode; note?: string; children: ReactNode }) {
  return (
    <div className={css.need}>
      <StatusGlyph look={props.look} title={wordOf(props.look)} />
      <div>
        <p>{props.title}</p>
        {props.note && <small title={props.note}>{props.note}</small>}
      </div>
      <div className={css.needActions}>{props.children}</div>
    </div>
  );
}

function ApprovalRow({ approvals }: { approvals: WaitingApproval[] }) {
  const [first] = approvals;
  if (first === undefined) return null;
  const name = first.automation_name ?? first.session_title ?? "A conversation";
  const main = mainField(first.input) ?? (asText(first.input) || first.title);
  const more = approvals.length - 1;
  const where = first.automation_name && first.session_title ? `, in “${visible(first.session_title)}”` : "";
  return (
    <Row
      look="waits"
      title={
        <>
          <strong>{visible(name)}</strong> asks: <code>{visibleLines(main)}</code>
        </>
      }
      note={`${more > 0 ? `and ${plural(more, "more request")}${where}. ` : ""}Denied at ${clock(first.deadline_at)} if nobody answers.`}
    >
      <span className={css.left}>
        <Countdown until={first.deadline_at} /> left
      </span>
      <ButtonLink kind="primary" href={addressOfApproval(first.id)}>
        Review
      </ButtonLink>
    </Row>
  );
}

function QuestionRow({ question }: { question: WaitingQuestion }) {
  const name = question.automation_name ?? question.session_title ?? "A conversation";
  const at = clock(question.deadline_at);
  return (
    <Row
      look="waits"
      title={
        <>
          <strong>{visible(name)}</strong> has a question: {visibleLines(question.text)}
        </>
      }
      note={
        question.default == null
          ? `Until ${at}.`
          : `“${visibleLines(answerText(question.default))}” counts at ${at}.`
      }
    >
      <span className={css.left}>
        <Countdown until={question.deadline_at} /> left
      </span>
      <ButtonLink kind="primary" href={addressOfQuestion(question.id)}>
        Answer
      </ButtonLink>
    </Row>
  );
}

function GoalRow({ goal }: { goal: WaitingGoal }) {
  const { look, state, wanted } = needOfGoal(goal);
  const title = titleOfGoal(goal);
  return (
    <Row
      look={look}
      title={
        <>
          <strong>{title}</strong> {state}
        </>
      }
      note={wanted}
    >
      <ButtonLink kind="primary" href={addressOfGoal(goal.id)} aria-label={`Open the goal ${title}`}>
        Open
      </ButtonLink>
    </Row>
  );
}

/** Returns the goal whose turn failed last in a group; null for other runs. One request finds those of all groups. */
function useGoalOf({ automation_id, last }: FailureGroup): string | null {
  const { data } = useQuery({
    queryKey: [...keys.runs, "failed turns of goals"],
    queryFn: ({ signal }) => {
      const query = { origin: "task", status: "failed,stalled", limit: 100 };
      return get<Page<RunItem>>("/runs", query, signal);
    },
    enabled: automation_id === null,
  });
  const turn = data?.items.find(({ id }) => id === last.run_id);
  return turn === undefined ? null : goalOf(turn);
}

function FailureRow({ group }: { group: FailureGroup }) {
  const refusal = useRefusal();
  const goal = useGoalOf(group);
  const [busy, setBusy] = useState(false);
  const look = lookOfRun(group);
  const name = visible(group.automation_name ?? group.session_title ?? "A conversation");
  const reason = briefReason(group.last.message ?? group.reason);
  const [first, last] = [dayAndTime(group.first_at), dayAndTime(group.last.at)];
  const when =
    group.count === 1
      ? ` at ${last}`
      : ` ${group.count} times, ${first === last ? `from ${first}` : `${first} to ${last}`}`;
  const act = async (action: () => Promise<unknown>) => {
    setBusy(true);
    await action();
    setBusy(false);
  };
  const { automation_id: id, automation_name: automation } = group;
  return (
    <Row
      look={look}
      title={
        <>
          <strong>{name}</strong> {wordOf(look)}
          {when}
        </>
      }
      note={visibleLines(localTimes(sentence(reason)))}
    >
      {look === "missed" ? (
        id !== null &&
        automation !== null && (
          <Button
            busy={busy}
            refusal={refusal("automations:write")}
            onClick={() => act(() => fireAutomation({ id, name: automation }))}
          >
            Run now
          </Button>
        )
      ) : goal !== null ? (
        <ButtonLink href={addressOfGoal(goal)}>Open goal</ButtonLink>
      ) : (
        <Button
          busy={busy}
          refusal={refusal("runs:write")}
          onClick={() => act(() => retryRun(group.last.run_id, name))}
        >
          Retry
        </Button>
      )}
      <ButtonLink href={addressOfRun(group.last.run_id)} aria-label={`Open the run of ${name}`}>
        Open
      </ButtonLink>
    </Row>
  );
}

function StoppedRow({ automation }: { automation: Automation }) {
  const refusal = useRefusal();
  const name = visible(automation.name);
  const paused = automation.state === "paused";
  const budget = addressOfReachedBudget(automation);
  const reason = budget === null ? automation.pause_reason : "its budget is used up";
  return (
    <Row
      look={paused ? "paused" : "failed"}
      title={
        <>
          <strong>{name}</strong>{" "}
          {isProposed(automation)
            ? "is proposed by an agent"
            : paused
              ? `is paused: ${visibleLines(reason ?? "")}`
              : "needs attention"}
        </>
      }
      note={visibleLines(localTimes(sentence(automation.attention?.replace(/^paused itself: /, ""))))}
    >
      {/* Resumed with the same budget, it would pause itself again. */}
      {budget !== null && <ButtonLink href={budget}>Raise budget</ButtonLink>}
      {paused && budget === null && (
        <Button refusal={refusal("automations:write")} onClick={() => resumeAutomation(automation)}>
          {isProposed(automation) ? "Accept" : "Resume"}
        </Button>
      )}
      <ButtonLink href={addressOfAutomation(automation.name)} aria-label={`Open ${name}`}>
        Open
      </ButtonLink>
    </Row>
  );
}
