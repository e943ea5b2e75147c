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

type Action = "retry" | "cancel";

/** What the dialog asks. It keeps the filter and the number of the moment at which it was opened. */
interface Question {
  action: Action;
  filter: RunFilter;
  count: Count;
}

/**
 * The number of runs that match the filter of the ledger, and the actions on all of them. The actions are offered only
 * with a filter, because nobody means all runs there ever were.
 */
export function MatchingRuns(props: { filter: RunFilter; from(): string | null; narrow: boolean }) {
  const refusal = useRefusal();
  const [question, setQuestion] = useState<Question | null>(null);
  const counts = useQuery({
    queryKey: [...keys.runs, "count", props.filter, props.from()],
    queryFn: ({ signal }) =>
      get<RunCounts>(
        "/runs/count",
        { ...props.filter, status: props.filter.status?.join(","), from: props.from() },
        signal,
      ),
  });
  const ask = (action: Action, count: Count) => {
    const from = props.from();
    setQuestion({ action, count, filter: { ...props.filter, ...(from !== null && { from }) } });
  };
  if (!counts.data) return null;
  const { matching, retryable, cancellable } = counts.data;
  return (
    <>
      <span className={css.count}>
        {countText(matching)} {matching.count === 1 ? "run" : "runs"}
      </span>
      {props.narrow && retryable.count > 0 && (
        <Button refusal={refusal("runs:write")} onClick={() => ask("retry", retryable)}>
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

function Confirm({ action, filter, count, onClose }: Question & { onClose(): void }) {
  const [key] = useState(newKey);
  const runs = plural(count.count, "run");
  const act = async () => {
    try {
      const options = { body: { filter, expected: count.count }, idempotencyKey: key };
      if (action === "retry") {
        const { retried, refused } = await post<RunsRetried>("/runs/retry", options);
        toast(result(`${plural(retried.length, "run")} queued again`, refused));
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
          : action === "retry"
            ? "Each gets one more attempt, the oldest first; turns of goals are repeated by their goals alone. If another number of runs matches by then, nothing happens."
            : "Those that wait end at once, the others when their agents have stopped. If another number of runs matches by then, nothing happens."
      }
      action={action === "retry" ? `Retry ${runs}` : `Cancel ${runs}`}
      kind={action === "retry" ? "primary" : "danger"}
      disabled={count.more}
      act={act}
      onClose={onClose}
    />
  );
}

function result(done: string, refused: RunsRetried["refused"]): string {
  const first = refused[0];
  return first === undefined ? done : `${done}, ${refused.length} not: ${first.reason}`;
}
