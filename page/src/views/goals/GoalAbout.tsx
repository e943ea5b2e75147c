import { Link } from "wouter";
import type { Goal } from "../../api/types";
import { longTime } from "../../kit/format";
import { Panel } from "../../kit/layout";
import { StatusGlyph } from "../../kit/Status";
import { visible, visibleLines } from "../../kit/visible";
import { addressOfSession } from "../addresses";
import { limitLabel } from "./form";
import css from "./goals.module.css";
import { givenKey, isOver, seatUsageText, stateOfSeat } from "./words";

/** The goal itself, while no task is chosen. */
export function About({ goal }: { goal: Goal }) {
  const rows: [string, string | null][] = [
    ["Directory", goal.directory ?? "a folder of its own"],
    ["Plan", goal.plan_version === 0 ? "none yet" : `version ${goal.plan_version}`],
    ["Further plans", `${goal.replans} of ${goal.replan_limit}`],
    ["Created", longTime(goal.created_at)],
    ["Ended", goal.ended_at ? longTime(goal.ended_at) : null],
    ["Key", givenKey(goal)],
  ];
  const checks = Object.entries(goal.checks);
  return (
    <section className={css.taskPanel} aria-label="About the goal">
      <header>
        <h2>Goal</h2>
      </header>
      <div className={css.taskBody}>
        <p className={css.prose}>{visibleLines(goal.goal)}</p>
        <dl className={css.about}>
          {rows
            .filter(([, value]) => value !== null)
            .map(([label, value]) => (
              <div key={label}>
                <dt>{label}</dt>
                <dd>{visible(value ?? "")}</dd>
              </div>
            ))}
        </dl>
        {checks.length > 0 && (
          <>
            <h3>Checks by command</h3>
            <ul className={css.lines} aria-label="Checks by command">
              {checks.map(([name, command]) => (
                <li key={name}>
                  <span>
                    {visible(name)}
                    <small>
                      <code>{visible(command)}</code>
                    </small>
                  </span>
                </li>
              ))}
            </ul>
          </>
        )}
        <details className={css.limits}>
          <summary>Limits</summary>
          <dl className={css.about}>
            {Object.entries(goal.limits).map(([name, value]) => (
              <div key={name}>
                <dt>{limitLabel(name)}</dt>
                <dd>{value}</dd>
              </div>
            ))}
          </dl>
        </details>
      </div>
    </section>
  );
}

export function Team({ goal, onChoose }: { goal: Goal; onChoose(key: string): void }) {
  // The conversation takes no message then.
  const over = isOver(goal);
  return (
    <Panel title={`Team ${visible(goal.team)}`}>
      <ul className={css.seats} aria-label="Seats">
        {goal.seats.map((seat) => {
          const { look, word } = stateOfSeat(seat, goal);
          const used = seatUsageText(seat, goal);
          return (
            <li key={seat.id}>
              <StatusGlyph look={look} />
              <span className={css.what}>
                <strong className="truncate">{visible(seat.name)}</strong>
                <small className="truncate">{visible(seat.agent)}</small>
              </span>
              <span>
                {word}
                {seat.task && (
                  <>
                    {", "}
                    <button type="button" className={css.link} onClick={() => onChoose(seat.task ?? "")}>
                      {visible(seat.task)}
                    </button>
                  </>
                )}
              </span>
              {!over && (
                <Link
                  href={`${addressOfSession(goal.id)}?seat=${encodeURIComponent(seat.name)}`}
                  aria-label={`Message ${visible(seat.name)} in the conversation`}
                >
                  Message
                </Link>
              )}
              {used && <small>{used}</small>}
            </li>
          );
        })}
      </ul>
    </Panel>
  );
}
