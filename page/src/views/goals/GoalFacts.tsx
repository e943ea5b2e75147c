import type { Goal } from "../../api/types";
import { count, dayAndTime, duration } from "../../kit/format";
import { useNow } from "../../kit/Time";
import css from "./goals.module.css";
import { costLimit, costShare, costText, isOver, shareOf, unreportedText } from "./words";

export function Facts({ goal }: { goal: Goal }) {
  const { tasks, usage, budget } = goal;
  const cost = costText(usage);
  const limit = costLimit(goal);
  const tokens = usage.tokens ?? null;
  const unreported = unreportedText(goal);
  return (
    <dl className={css.facts}>
      <Fact
        label="Tasks"
        value={String(tasks.done)}
        of={`of ${tasks.total}`}
        share={shareOf(tasks.done, tasks.total)}
        note={tasks.failed > 0 ? `${tasks.failed} failed` : null}
      />
      <Fact
        label="Cost"
        value={cost ?? "not reported"}
        of={limit === null ? null : `of ${limit}`}
        share={costShare(goal)}
        note={unreported}
      />
      {tokens !== null && (
        <Fact
          label="Tokens"
          value={count(tokens)}
          of={budget?.tokens ? `of ${count(budget.tokens)}` : null}
          share={budget?.tokens ? shareOf(tokens, budget.tokens) : null}
        />
      )}
      <Fact
        label="Turns"
        value={String(goal.turns)}
        of={`of ${goal.turn_limit}`}
        share={shareOf(goal.turns, goal.turn_limit)}
      />
      {goal.until && !isOver(goal) && <TimeLeft from={goal.created_at} until={goal.until} />}
    </dl>
  );
}

function TimeLeft({ from, until }: { from: string; until: string }) {
  const now = useNow(30_000);
  const left = Date.parse(until) - now;
  const whole = Date.parse(until) - Date.parse(from);
  return (
    <Fact
      label="Time left"
      value={left <= 0 ? "none" : duration(left)}
      of={null}
      note={`until ${dayAndTime(until)}`}
      share={shareOf(whole - left, whole)}
    />
  );
}

function Fact(props: {
  label: string;
  value: string;
  of: string | null;
  share: number | null;
  note?: string | null;
}) {
  const { label, value, of, share, note } = props;
  return (
    <div>
      <dt>{label}</dt>
      <dd>
        <span>
          <strong>{value}</strong> {of}
        </span>
        {share !== null && (
          <div
            className={css.meter}
            role="meter"
            aria-label={label}
            aria-valuenow={Math.round(share * 100)}
            aria-valuemin={0}
            aria-valuemax={100}
          >
            <span style={{ width: `${share * 100}%` }} />
          </div>
        )}
        {note && <small>{note}</small>}
      </dd>
    </div>
  );
}
