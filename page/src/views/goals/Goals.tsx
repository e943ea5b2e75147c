import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useRef } from "react";
import { Link, useLocation } from "wouter";
import { get } from "../../api/client";
import { keys } from "../../api/queries";
import type { GoalSummary, Page } from "../../api/types";
import { Button } from "../../kit/Button";
import { ErrorState } from "../../kit/ErrorState";
import { dayAndTime, longTime } from "../../kit/format";
import { Chips, MorePages } from "../../kit/List";
import { EmptyState, Skeleton } from "../../kit/layout";
import listCss from "../../kit/list.module.css";
import { Status } from "../../kit/Status";
import { VirtualList, type VirtualListHandle } from "../../kit/VirtualList";
import { visible, visibleLines } from "../../kit/visible";
import { useKey, useRowKeys } from "../../shell/keys";
import { addressOfGoal } from "../addresses";
import { useFilter } from "../filter";
import { useRefusal } from "../refusal";
import css from "./goals.module.css";
import { costLimit, costText, stateOfGoal, titleOfGoal } from "./words";

const STATES = [
  { value: "", label: "All" },
  { value: "active", label: "Active" },
  { value: "paused", label: "Paused" },
  { value: "done", label: "Done" },
  { value: "failed", label: "Failed" },
  { value: "draft", label: "Drafts" },
];

const PAGE = 100;
const ROW_HEIGHT = 48;

/** The route `/goals`. */
export default function Goals() {
  const [state, setState] = useFilter("state");
  const [, navigate] = useLocation();
  const refusal = useRefusal()("sessions:write");
  // An address may name a state that the page does not have. It filters nothing then.
  const chosen = STATES.find((each) => each.value === state)?.value ?? "";
  const queryKey = [...keys.goals, chosen];
  const list = useInfiniteQuery({
    queryKey,
    queryFn: ({ signal, pageParam }) =>
      get<Page<GoalSummary>>("/goals", { state: chosen, after: pageParam, limit: PAGE }, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    placeholderData: keepPreviousData,
  });
  useKey("n", () => navigate("/goals/new"));
  const rows = useRef<VirtualListHandle>(null);
  useRowKeys(rows);
  const goals = list.data?.pages.flatMap((page) => page.items) ?? [];
  const create = (
    <Button kind="primary" size="large" refusal={refusal} onClick={() => navigate("/goals/new")}>
      New goal
    </Button>
  );
  const none = chosen === "" && list.data !== undefined && goals.length === 0;
  return (
    <div className={listCss.listView}>
      <header className={`${listCss.head} ${css.listHead}`}>
        <h1>Goals</h1>
        <Chips label="State" value={chosen} options={STATES} onChange={setState} />
        <span className={css.space} />
        {!none && create}
      </header>
      {list.error && (
        <div className={listCss.headProblem}>
          <ErrorState error={list.error} onRetry={() => list.refetch()} />
        </div>
      )}
      {list.data === undefined ? (
        !list.error && <Skeleton rows={10} />
      ) : goals.length === 0 ? (
        <EmptyState
          text={
            none
              ? "No goal yet. Give a team of agents one result to work for: it plans, works, checks and reports."
              : "No goal is in this state."
          }
          action={none && create}
          command={
            none ? 'matins goal start "Compare the three offers" --budget "6 USD"' : "matins goal list"
          }
        />
      ) : (
        <div className={listCss.table} data-stale={list.isPlaceholderData || undefined}>
          <div className={`${listCss.columns} ${css.columns}`} aria-hidden="true">
            <span>State</span>
            <span>Goal</span>
            <span>Tasks</span>
            <span>Cost</span>
            <span>Turns</span>
            <span>Created</span>
          </div>
          <VirtualList
            ref={rows}
            label="Goals"
            className={listCss.rows ?? ""}
            items={goals}
            rowHeight={ROW_HEIGHT}
            keyOf={(goal) => goal.id}
            render={(goal) => <GoalRow goal={goal} />}
          />
          <MorePages list={list} queryKey={queryKey}>
            {goals.length} shown. Show more
          </MorePages>
        </div>
      )}
    </div>
  );
}

function GoalRow({ goal }: { goal: GoalSummary }) {
  const { look, word } = stateOfGoal(goal);
  const title = titleOfGoal(goal);
  const text = visibleLines(goal.goal);
  const limit = costLimit(goal);
  const cost = costText(goal.usage);
  const { done, total, failed } = goal.tasks;
  return (
    <div className={listCss.row}>
      <Link href={addressOfGoal(goal.id)} className={`${listCss.rowLink} ${css.rowLink}`}>
        <Status look={look} word={word} />
        <span className={css.what}>
          <strong className="truncate">{title}</strong>
          <small className="truncate">
            {text.startsWith(title.replace(/…$/, "")) ? `team ${visible(goal.team)}` : text}
          </small>
        </span>
        <span>
          {done}/{total}
          <span className="visually-hidden"> tasks done</span>
          {failed > 0 && `, ${failed} failed`}
        </span>
        <span className="truncate">{cost === null ? "" : limit === null ? cost : `${cost} of ${limit}`}</span>
        <span>
          {goal.turns}/{goal.turn_limit}
          <span className="visually-hidden"> turns</span>
        </span>
        <time dateTime={goal.created_at} title={longTime(goal.created_at)}>
          {dayAndTime(goal.created_at)}
        </time>
      </Link>
    </div>
  );
}
