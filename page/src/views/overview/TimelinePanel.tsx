import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import type { Lane, Timeline } from "../../api/types";
import { clock, dayHeading, plural } from "../../kit/format";
import { type Look, StatusGlyph, wordOf } from "../../kit/Status";
import { useNow } from "../../kit/Time";
import { addressOfRun } from "../addresses";
import { comingMarks, GLYPH, type Mark, pastMarks, place, type Scale, ticks } from "./marks";
import css from "./overview.module.css";

const LANE = 24;

const COLOURS: Partial<Record<Mark["look"], string>> = {
  succeeded: "var(--succeeded)",
  failed: "var(--failed)",
  missed: "var(--failed)",
  stalled: "var(--failed)",
  running: "var(--running)",
  waits: "var(--waits)",
};

/** Returns the width of an element, and follows its changes. */
function useWidth(): [(element: HTMLElement | null) => void, number] {
  const [element, setElement] = useState<HTMLElement | null>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    if (element === null) return;
    const observer = new ResizeObserver((entries) =>
      setWidth(Math.floor(entries[0]?.contentRect.width ?? 0)),
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, [element]);
  return [setElement, width];
}

/** The state of a lane in one glyph: what waits or runs, else the last outcome. */
function lookOfLane(lane: Lane, waiting: ReadonlySet<string>): Look | null {
  if (lane.runs.some((run) => waiting.has(run.run_id))) return "waits";
  if (lane.state === "paused") return "paused";
  const last = lane.runs.find((run) =>
    ["succeeded", "failed", "missed", "stalled", "running"].includes(run.status),
  );
  if (last) return last.status as Look;
  return lane.buckets.length > 0
    ? (pastMarks(lane, { from: 0, to: 1, width: 1 }, 1).at(-1)?.look as Look)
    : null;
}

const nameOf = (lane: Lane): string => lane.automation_name ?? "Conversations";

/** The runs of 24 hours and the coming ones of 24 more, a lane for each automation. */
export function TimelinePanel(props: { timeline: Timeline; approvals: readonly { run_id: string }[] }) {
  const { timeline } = props;
  const waiting = new Set(props.approvals.map((approval) => approval.run_id));
  const [setPlot, width] = useWidth();
  const minute = useNow(60_000);
  const now = Math.max(minute, Date.parse(timeline.now));
  const scale: Scale = { from: Date.parse(timeline.from), to: Date.parse(timeline.to), width };
  const [active, setActive] = useState<{ lane: number; mark: number } | null>(null);
  const lanes = timeline.lanes;
  const marks = lanes.map((lane) => [...pastMarks(lane, scale, now), ...comingMarks(lane, scale, now)]);
  const shown = active === null ? null : (marks[active.lane]?.[active.mark] ?? null);
  const [, navigate] = useLocation();
  const plot = useRef<HTMLDivElement | null>(null);
  const move = (event: KeyboardEvent) => {
    const at = active ?? { lane: 0, mark: -1 };
    const row = (lane: number) => marks[lane] ?? [];
    const step = (lane: number, mark: number) => {
      event.preventDefault();
      if (row(lane)[mark]) setActive({ lane, mark });
    };
    const nearest = (lane: number) => {
      const x = row(at.lane)[at.mark]?.x ?? 0;
      let best = 0;
      row(lane).forEach((mark, index) => {
        if (Math.abs(mark.x - x) < Math.abs((row(lane)[best]?.x ?? 0) - x)) best = index;
      });
      step(lane, best);
    };
    if (event.key === "ArrowRight") step(at.lane, at.mark + 1);
    else if (event.key === "ArrowLeft") step(at.lane, at.mark - 1);
    else if (event.key === "ArrowDown") nearest(at.lane + 1);
    else if (event.key === "ArrowUp") nearest(at.lane - 1);
    else if (event.key === "Escape") setActive(null);
    else if (event.key === "Enter" && shown?.run) navigate(addressOfRun(shown.run));
  };
  const nowX = place(now, scale);
  const hasConversations = lanes.some((lane) => lane.automation_id === null);
  const automations = lanes.length - (hasConversations ? 1 : 0);
  return (
    <section className={css.timeline} aria-label="Timeline">
      <header>
        <h2>24 hours back, 24 ahead</h2>
        <span>
          {plural(automations, "automation")}
          {timeline.lanes_cut && ", and more"}
        </span>
        <ul className={css.legend} aria-hidden="true">
          {(["succeeded", "failed", "missed", "skipped"] as const).map((look) => (
            <li key={look}>
              <StatusGlyph look={look} /> {wordOf(look)}
            </li>
          ))}
          <li>
            <svg viewBox="0 0 10 10" width={10} height={10} aria-hidden="true">
              <MarkShape mark={{ look: "due", x: 0, width: 0 }} y={5} />
            </svg>{" "}
            due
          </li>
        </ul>
      </header>
      <div className={css.lanes}>
        <ul className={css.laneNames}>
          {lanes.map((lane) => {
            const look = lookOfLane(lane, waiting);
            const name = nameOf(lane);
            return (
              <li key={lane.automation_id ?? "conversations"}>
                {look ? <StatusGlyph look={look} title={wordOf(look)} /> : <span className={css.noGlyph} />}
                <Link
                  className="truncate"
                  href={
                    lane.automation_name === null
                      ? "/conversations"
                      : `/automations/${encodeURIComponent(lane.automation_name)}`
                  }
                >
                  {name}
                </Link>
              </li>
            );
          })}
        </ul>
        <div
          ref={(element) => {
            plot.current = element;
            setPlot(element);
          }}
          className={css.plot}
          role="application"
          aria-label="Runs. Arrow keys go from mark to mark, Enter opens a run."
          tabIndex={0}
          onKeyDown={move}
          onBlur={() => setActive(null)}
        >
          {width > 0 && (
            <svg width={width} height={LANE * (lanes.length + 1)} aria-hidden="true">
              {ticks(scale).map((at) => {
                const x = place(at, scale);
                const midnight = new Date(at).getHours() === 0;
                const near = Math.abs(x - nowX) < 44;
                return (
                  <g key={at}>
                    <line className={css.tick} x1={x} x2={x} y1={LANE} y2={LANE * (lanes.length + 1)} />
                    {!near && (
                      <text className={midnight ? css.day : css.hour} x={x} y={16}>
                        {midnight
                          ? dayHeading(new Date(at).toISOString()).slice(0, 3)
                          : clock(new Date(at).toISOString())}
                      </text>
                    )}
                  </g>
                );
              })}
              {lanes.map((lane, index) => (
                <line
                  key={lane.automation_id ?? "conversations"}
                  className={css.laneLine}
                  x1={0}
                  x2={width}
                  y1={LANE * (index + 1)}
                  y2={LANE * (index + 1)}
                />
              ))}
              {marks.map((row, lane) =>
                row.map((mark, index) => (
                  // biome-ignore lint/a11y/noStaticElementInteractions: the plot has the keys; this is for the pointer.
                  <g
                    key={`${lanes[lane]?.automation_id} ${mark.key}`}
                    data-look={mark.look}
                    className={mark.run ? css.markLink : undefined}
                    onClick={() => mark.run && navigate(addressOfRun(mark.run))}
                  >
                    <title>{mark.text}</title>
                    {active?.lane === lane && active.mark === index && (
                      <rect
                        className={css.activeMark}
                        x={mark.x - 3}
                        y={LANE * (lane + 1) + 4}
                        width={Math.max(mark.width, GLYPH) + 6}
                        height={16}
                        rx={3}
                      />
                    )}
                    <MarkShape mark={mark} y={LANE * (lane + 1) + LANE / 2} />
                  </g>
                )),
              )}
              <line className={css.nowLine} x1={nowX} x2={nowX} y1={LANE} y2={LANE * (lanes.length + 1)} />
              <g className={css.nowFlag}>
                <rect x={nowX - 20} y={1} width={40} height={20} rx={10} />
                <text x={nowX} y={15}>
                  {clock(new Date(now).toISOString())}
                </text>
              </g>
            </svg>
          )}
        </div>
      </div>
      <p className={css.markText} role="status">
        {shown?.text}
      </p>
      {/* A table itself cannot be narrower than its words, and would widen the page. */}
      <div className="visually-hidden">
        <table>
          <caption>Runs of the last 24 hours and the next ones</caption>
          <thead>
            <tr>
              <th>Automation</th>
              <th>Ran</th>
              <th>Next</th>
            </tr>
          </thead>
          <tbody>
            {lanes.map((lane, index) => (
              <tr key={lane.automation_id ?? "conversations"}>
                <th>{nameOf(lane)}</th>
                <td>
                  {marks[index]
                    ?.filter((mark) => !isComing(mark))
                    .map((mark) => mark.text)
                    .join("; ")}
                </td>
                <td>{marks[index]?.find(isComing)?.text}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

const isComing = (mark: Mark) => mark.look === "due" || mark.look === "would-run";

function MarkShape({ mark, y }: { mark: Pick<Mark, "look" | "x" | "width">; y: number }) {
  const colour = COLOURS[mark.look] ?? "var(--quiet)";
  const { x, width, look } = mark;
  const line = { fill: "none", stroke: colour, strokeWidth: 1.75, strokeLinecap: "round" as const };
  switch (look) {
    case "succeeded":
    case "running":
    case "cancelled":
      return width > 0 ? (
        <rect
          x={x}
          y={y - 6}
          width={width}
          height={12}
          rx={1.5}
          fill={look === "cancelled" ? "none" : colour}
          stroke={look === "cancelled" ? colour : undefined}
        />
      ) : (
        <rect x={x} y={y - 6} width={4} height={12} rx={1.5} fill={colour} />
      );
    case "failed":
      return <path d={`m${x} ${y - 4} 8 8m0-8-8 8`} {...line} strokeWidth={2} />;
    case "missed":
      return <rect x={x} y={y - 4.5} width={9} height={9} rx={2} {...line} />;
    case "stalled":
      return <rect x={x} y={y - 4.5} width={9} height={9} rx={2} {...line} strokeDasharray="2.5 2" />;
    case "waits":
      return <path d={`m${x + 4.5} ${y - 5.5} 5.5 5.5-5.5 5.5-5.5-5.5z`} fill={colour} />;
    case "skipped":
      return <path d={`M${x} ${y}h6`} {...line} />;
    case "would-run":
      return <circle cx={x + 4} cy={y} r={3} {...line} strokeWidth={1.25} strokeDasharray="2 1.5" />;
    default:
      return <circle cx={x + 4} cy={y} r={look === "due" ? 3 : 4} {...line} strokeWidth={1.25} />;
  }
}
