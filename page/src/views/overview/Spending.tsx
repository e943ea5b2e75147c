import { Link } from "wouter";
import type { Budget, Money, Overview } from "../../api/types";
import { count, money, plural } from "../../kit/format";
import { visible } from "../../kit/visible";
import { addressOfGoal } from "../addresses";
import css from "./overview.module.css";

const text = ({ amount, currency }: Money): string => money(Number(amount), currency);

function costText(cost: Money[], turns: number): string {
  if (cost.length > 0) return cost.map(text).join(" + ");
  // A bare $0 would hide that the agents report nothing.
  return turns > 0 ? "cost not reported" : "nothing yet";
}

/** Says for how many runs the cost does not count. Empty if it counts for all. */
export function silentText(reported: Overview["reported_in_month"]): string {
  const silent = reported.runs - reported.with_cost;
  return silent === 0 ? "" : `; ${plural(silent, "run")} not reported`;
}

type Spender = Overview["spenders"][number];

/** Returns the key of a line, which is one for each currency, its text, and the address of a goal. */
export function lineOf(spender: Spender): { key: string; label: string; href: string | null } {
  const { automation_id, automation_name, cost } = spender;
  // A server of the version before sends neither, and counts goals as conversations.
  const { goal_id = null, goal_title = null } = spender as Partial<Spender>;
  return {
    key: [automation_id, goal_id, cost?.currency].join(" "),
    label: visible(automation_name ?? goal_title ?? "conversations"),
    href: goal_id === null ? null : addressOfGoal(goal_id),
  };
}

/** What today and this month cost, against the budget; the days are those of UTC, as for budgets. */
export function Spending({ overview }: { overview: Overview }) {
  const { usage, reported, reported_in_month: ofMonth, spenders } = overview;
  const month = new Date(usage.month.since).toLocaleDateString("en-GB", { month: "long", timeZone: "UTC" });
  const day = new Date(usage.day.since).getUTCDate();
  const days = new Date(Date.parse(usage.month.until) - 1).getUTCDate();
  const note =
    reported.runs === 0
      ? "no run has ended today"
      : `${reported.with_cost} of ${plural(reported.runs, "run")} reported a cost`;
  return (
    <section className={css.spending} aria-label="Cost and usage">
      <Amount
        label="Today"
        cost={usage.day.cost}
        turns={usage.day.turns}
        limit={usage.budget.day.cost}
        note={note}
      />
      <Amount
        label={month}
        cost={usage.month.cost}
        turns={usage.month.turns}
        limit={usage.budget.month.cost}
        note={`day ${day} of ${days}, in UTC${silentText(ofMonth)}`}
      />
      <div>
        <p>
          <span>Tokens today</span>
          <strong>{usage.day.tokens > 0 ? count(usage.day.tokens) : "none reported"}</strong>
        </p>
        <small>
          {plural(usage.day.turns, "turn")}
          {tokenLimit(usage.budget)}
        </small>
      </div>
      <div>
        <small>Most today</small>
        {spenders.length === 0 && <small>nothing yet</small>}
        <ul>
          {spenders.map((spender) => {
            const { key, label, href } = lineOf(spender);
            return (
              <li key={key}>
                {href === null ? (
                  <span className="truncate">{label}</span>
                ) : (
                  <Link className="truncate" href={href} title={label}>
                    {label}
                  </Link>
                )}
                <span>
                  {spender.cost
                    ? text(spender.cost)
                    : spender.tokens > 0
                      ? `${count(spender.tokens)} tokens`
                      : plural(spender.turns, "turn")}
                </span>
              </li>
            );
          })}
        </ul>
      </div>
    </section>
  );
}

function tokenLimit(budget: Budget): string {
  return budget.day.tokens == null ? "" : `, at most ${count(budget.day.tokens)} tokens`;
}

function Amount(props: {
  label: string;
  cost: Money[];
  turns: number;
  limit: Money | null | undefined;
  note: string;
}) {
  const { label, cost, turns, limit, note } = props;
  const used = limit ? Number(cost.find((each) => each.currency === limit.currency)?.amount ?? 0) : 0;
  const share = limit ? Math.min(1, used / Number(limit.amount)) : 0;
  return (
    <div>
      <p>
        <span>{label}</span>
        <span>
          <strong>{costText(cost, turns)}</strong>
          {limit && ` of ${text(limit)}`}
        </span>
      </p>
      {limit && (
        <div
          className={css.meter}
          role="meter"
          aria-label={`${label}: used of the budget`}
          aria-valuemin={0}
          aria-valuemax={100}
          aria-valuenow={Math.round(share * 100)}
        >
          <span style={{ width: `${share * 100}%` }} data-full={share >= 1} />
        </div>
      )}
      <small>{note}</small>
    </div>
  );
}
