import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { get, newKey, post } from "../../api/client";
import { hasStatus } from "../../api/problem";
import { keys } from "../../api/queries";
import type { Count, RunCounts, RunFilter, RunsCancelled, RunsRetried } from "../../api/types";
import { ActionDialog } from "../../kit/ActionDialog";
import { Button } from "../../kit/Button";
import { countText, plural } from "../../kit/format";
import { toast } from "../../kit/Toast";
import { useRefusal } from "../refusal";
import { refetchRuns } from "../run-actions";
import css from "./runs.module.css";
import { without } from "./words";

type Action = "retry" | "cancel";

/** What the dialog asks. It keeps the filter and the number of the moment at which it was opened. */
interface Question {
  action: Action;
  filter: RunFilter;
  count: Count;
  /** The turns of goals among the runs of the filter. The server expects them in the number, and retries none of them. */
  leftOut: number;
}

const useCounts = (filter: RunFilter, from: string | null, enabled = true) =>
  useQuery({
    queryKey: [...keys.runs, "count", filter, from],
    queryFn: ({ signal }) =>
      get<RunCounts>("/runs/count", { ...filter, status: filter.status?.join(","), from }, signal),
    enabled,
  });

const NONE: Count = { count: 0, more: false };

/**
 * The number of runs that match the filter of the ledger, and the actions on all of them. The actions are offered only
 * with a filter, because nobody means all runs there ever were.
 */
export function MatchingRuns(props: { filter: RunFilter; from(): string | null; narrow: boolean }) {
  const refusal = useRefusal();
  const [question, setQuestion] = useState<Question | null>(null);
  const counts = useCounts(props.filter, props.from());
  // The server counts the turns of goals among those to retry, and refuses each. No automation has any.
  const mayHaveGoals = props.narrow && props.filter.automation === undefined;
  const ofGoals = useCounts(
    { ...props.filter, origin: "task" },
    props.from(),
    mayHaveGoals && (counts.data?.retryable.count ?? 0) > 0,
  );
  const ask = (action: Action, count: Count, leftOut = 0) => {
    const from = props.from();
    setQuestion({ action, count, leftOut, filter: { ...props.filter, ...(from !== null && { from }) } });
  };
  if (!counts.data) return null;
  const { matching, cancellable } = counts.data;
  const leftOut = mayHaveGoals ? ofGoals.data?.retryable : NONE;
  const retryable = leftOut === undefined ? NONE : without(counts.data.retryable, leftOut);
  return (
    <>
      <span className={css.count}>
        {countText(matching)} {matching.count === 1 ? "run" : "runs"}
      </span>
      {props.narrow && retryable.count > 0 && (
        <Button refusal={refusal("runs:write")} onClick={() => ask("retry", retryable, leftOut?.count)}>
          Retry {countText(retryable)}
        </Button>
      )}
      {props.narrow && cancellable.count > 0 && (
        <Button refusal={refusal("runs:write")} onClick={() => ask("cancel", cancellable)}>
          Cancel {countText(cancellable)}
        </Button>
      )}
      {question && <Confirm {...question} onClose={() => setQuestion(null)} />}
    </>
  );
}

function Confirm({ action, filter, count, leftOut, onClose }: Question & { onClose(): void }) {
  const [key] = useState(newKey);
  const runs = plural(count.count, "run");
  const note =
    action === "cancel"
      ? "Those that wait end at once, the others when their agents have stopped."
      : `Each gets one more attempt, the oldest first.${leftOut === 0 ? "" : ` Turns of goals are left out: ${leftOut}.`}`;
  const act = async () => {
    try {
      const options = { body: { filter, expected: count.count + leftOut }, idempotencyKey: key };
      if (action === "retry") {
        const { retried, refused } = await post<RunsRetried>("/runs/retry", options);
        toast(result(`${plural(retried.length, "run")} queued again`, refused, leftOut));
      } else {
        const { cancelled, refused } = await post<RunsCancelled>("/runs/cancel", options);
        toast(result(`${plural(cancelled.length, "run")} cancelled`, refused));
      }
      refetchRuns();
    } catch (problem) {
      // The number has changed: the ledger shows the present one.
      if (hasStatus(problem, 409)) refetchRuns();
      throw problem;
    }
  };
  return (
    <ActionDialog
      title={action === "retry" ? `Retry ${runs}?` : `Cancel ${runs}?`}
      note={
        count.more
          ? `More than ${count.count} runs match. Narrow the filter first.`
          : `${note} If another number of runs matches by then, nothing happens.`
      }
      action={action === "retry" ? `Retry ${runs}` : `Cancel ${runs}`}
      kind={action === "retry" ? "primary" : "danger"}
      disabled={count.more}
      act={act}
      onClose={onClose}
    />
  );
}

/** Says what was done, and the number of refusals that are not `expected`, with the reason of one. */
function result(done: string, refused: RunsRetried["refused"], expected = 0): string {
  const other = refused[expected];
  return other === undefined ? done : `${done}, ${refused.length - expected} not: ${other.reason}`;
}
