import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import type { Lane, Timeline } from "../../api/types";
import { clock } from "../../kit/format";
import { type Look, StatusGlyph, wordOf } from "../../kit/Status";
import { useNow } from "../../kit/Time";
import { addressOfRun } from "../addresses";
import { FLAG, ticks } from "./axis";
import { Legend, MarkShape, SinceLine } from "./MarkShape";
import {
  comingMarks,
  layerOf,
  type Mark,
  nameOfLane,
  numbered,
  pastMarks,
  place,
  type Scale,
  tally,
  worstOf,
} from "./marks";
import css from "./overview.module.css";
import { periodOf, type Row, rowsOf } from "./rows";

const LANE = 24;
/** The width that a phone has beside the plot, for names and margins. */
const BESIDE_PLOT = 174;

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
    ["succeeded", "failed", "missed", "stalled", "running", "delivered"].includes(run.status),
  );
  if (last) return last.status as Look;
  const bucket = lane.buckets.at(-1);
  return bucket ? worstOf(bucket) : null;
}

/**
 * The runs of the last hours and the coming ones, a row for each automation. `room` is the number of rows before the
 * reader asks for all, and `since` the instant at which the reader looked before.
 */
export function TimelinePanel(props: {
  timeline: Timeline;
  approvals: readonly { run_id: string }[];
  room: number;
  since: string | null;
}) {
  const { timeline } = props;
  const waiting = new Set(props.approvals.map((approval) => approval.run_id));
  const [setPlot, width] = useWidth();
  const minute = useNow(60_000);
  const now = Math.max(minute, Date.parse(timeline.now));
  // Until the plot is measured, the window tells its width, so that the heading does not change.
  const period = periodOf(timeline, now, width || window.innerWidth - BESIDE_PLOT);
  const scale: Scale = { from: period.from, to: period.to, width };
  const [whole, setWhole] = useState(false);
  const [active, setActive] = useState<{ lane: number; mark: number } | null>(null);
  const rows = rowsOf(timeline.lanes, whole ? timeline.lanes.length : props.room);
  const past = rows.map((row) => pastMarks(row.lanes, waiting, scale, now));
  const marks = rows.map((row, index) => [...(past[index] ?? []), ...comingMarks(row.lanes, scale, now)]);
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
  const bottom = LANE * (rows.length + 1);
  const sinceAt = props.since === null ? Number.NaN : Date.parse(props.since);
  const hasSince = sinceAt > scale.from && sinceAt < now;
  return (
    <section className={css.timeline} aria-label="Timeline">
      <header>
        <h2>
          {period.back} hours back, {period.ahead} ahead
        </h2>
        {timeline.lanes_cut && <span>the first {timeline.lanes.length} automations</span>}
        <Legend className={css.legend} counts={tally(marks.flat())} hasSince={hasSince} />
      </header>
      <div className={css.lanes}>
        <ul className={css.laneNames}>
          {rows.map((row) => (
            <li key={row.key}>
              <RowName row={row} waiting={waiting} />
            </li>
          ))}
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
            <svg width={width} height={bottom} aria-hidden="true">
              {ticks(scale, now).map((tick) => (
                <g key={tick.at} data-tick={tick.at}>
                  <line className={css.tick} x1={tick.x} x2={tick.x} y1={LANE} y2={bottom} />
                  <text className={tick.isMidnight ? css.day : css.hour} x={tick.labelX} y={16}>
                    {tick.label}
                  </text>
                </g>
              ))}
              {rows.map((row, index) => (
                <line
                  key={row.key}
                  className={css.laneLine}
                  x1={0}
                  x2={width}
                  y1={LANE * (index + 1)}
                  y2={LANE * (index + 1)}
                />
              ))}
              {hasSince && <SinceLine x={place(sinceAt, scale)} top={LANE} bottom={bottom} />}
              <line className={css.nowLine} x1={nowX} x2={nowX} y1={LANE} y2={bottom} />
              {rows.map((row, lane) => (
                <RowMarks
                  key={row.key}
                  row={row}
                  marks={marks[lane] ?? []}
                  past={past[lane] ?? []}
                  active={active?.lane === lane ? active.mark : null}
                  top={LANE * (lane + 1)}
                />
              ))}
              <g className={css.nowFlag}>
                <rect x={nowX - FLAG} y={1} width={2 * FLAG} height={20} rx={10} />
                <text x={nowX} y={15}>
                  {clock(new Date(now).toISOString())}
                </text>
              </g>
            </svg>
          )}
        </div>
      </div>
      <footer className={css.timelineFoot}>
        {timeline.lanes.length > props.room && (
          <button type="button" className={css.more} aria-expanded={whole} onClick={() => setWhole(!whole)}>
            {whole ? "Fewer lanes" : `All ${timeline.lanes.length} lanes`}
          </button>
        )}
        <p role="status">{shown?.text}</p>
      </footer>
      {/* A table itself cannot be narrower than its words, and would widen the page. */}
      <div className="visually-hidden">
        <table>
          <caption>
            Runs of the last {period.back} hours and the next {period.ahead}
          </caption>
          <thead>
            <tr>
              <th>Automation</th>
              <th>Ran</th>
              <th>Next</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row, index) => (
              <tr key={row.key}>
                <th>{row.name}</th>
                <td>{past[index]?.map((mark) => mark.text).join("; ")}</td>
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

function RowName({ row, waiting }: { row: Row; waiting: ReadonlySet<string> }) {
  const [lane] = row.lanes;
  if (lane === undefined || row.lanes.length > 1)
    return (
      <span className={css.foldedName} title={row.lanes.map(nameOfLane).join(", ")}>
        {row.name}
      </span>
    );
  const look = lookOfLane(lane, waiting);
  return (
    <>
      {look ? <StatusGlyph look={look} title={wordOf(look)} /> : <span className={css.noGlyph} />}
      <Link
        className="truncate"
        href={
          lane.automation_name === null
            ? "/conversations"
            : `/automations/${encodeURIComponent(lane.automation_name)}`
        }
      >
        {row.name}
      </Link>
    </>
  );
}

function RowMarks(props: {
  row: Row;
  marks: readonly Mark[];
  past: readonly Mark[];
  active: number | null;
  top: number;
}) {
  const { row, marks, past, active, top } = props;
  const [, navigate] = useLocation();
  // The parts of a crowded day have no room for numbers.
  const withNumber = numbered(row.lanes.some((lane) => lane.buckets.length > 0) ? [] : past);
  const layers = marks
    .map((mark, index) => ({ mark, index }))
    .sort((a, b) => layerOf(a.mark.look) - layerOf(b.mark.look));
  return layers.map(({ mark, index }) => (
    // biome-ignore lint/a11y/noStaticElementInteractions: the plot has the keys; this is for the pointer.
    <g
      key={`${mark.look} ${mark.key}`}
      data-look={mark.look}
      data-count={mark.count}
      className={mark.run ? css.markLink : undefined}
      onClick={() => mark.run && navigate(addressOfRun(mark.run))}
    >
      <title>{mark.text}</title>
      {active === index && (
        <rect
          className={css.activeMark}
          x={mark.x - 3}
          y={top + 4}
          width={mark.width + 6}
          height={16}
          rx={3}
        />
      )}
      <MarkShape mark={mark} y={top + LANE / 2} />
      {withNumber.has(mark) && (
        <text className={css.markCount} x={mark.x + mark.width / 2} y={top + 5}>
          {mark.count}
        </text>
      )}
    </g>
  ));
}
