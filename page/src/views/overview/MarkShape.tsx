import type { ReactNode } from "react";
import { wordOf } from "../../kit/Status";
import { GLYPH, LEAST_BAR, type Mark, type MarkLook } from "./marks";

const COLOURS: Partial<Record<MarkLook, string>> = {
  succeeded: "var(--succeeded)",
  failed: "var(--failed)",
  missed: "var(--failed)",
  stalled: "var(--failed)",
  running: "var(--running)",
  waits: "var(--waits)",
};

/** The shape of a mark; `y` is its middle. */
export function MarkShape({ mark, y }: { mark: Pick<Mark, "look" | "x" | "width">; y: number }) {
  const { x, width, look } = mark;
  const colour = COLOURS[look] ?? "var(--quiet)";
  const line = { fill: "none", stroke: colour, strokeWidth: 1.75, strokeLinecap: "round" as const };
  const middle = x + width / 2;
  switch (look) {
    case "succeeded":
    case "running":
      return <rect x={x} y={y - 6} width={width} height={12} rx={1.5} fill={colour} />;
    case "cancelled":
      return (
        <rect
          x={x + 0.5}
          y={y - 5.5}
          width={width - 1}
          height={11}
          rx={1.5}
          {...line}
          strokeWidth={1}
          fill="var(--surface)"
        />
      );
    case "failed":
      return <path d={`m${middle - 4} ${y - 4} 8 8m0-8-8 8`} {...line} strokeWidth={2} />;
    case "missed":
    case "stalled":
      return (
        <>
          <rect
            x={middle - 4.5}
            y={y - 4.5}
            width={9}
            height={9}
            rx={2}
            {...line}
            strokeWidth={1.5}
            fill="var(--surface)"
            strokeDasharray={look === "stalled" ? "2.5 2" : undefined}
          />
          <path d={`m${middle - 1.5} ${y - 1.5} 3 3m0-3-3 3`} {...line} strokeWidth={1.25} />
        </>
      );
    case "waits":
      return <path d={`m${middle} ${y - 5.5} 5.5 5.5-5.5 5.5-5.5-5.5z`} fill={colour} />;
    case "delivered":
      return (
        <path
          d={`M${middle - 3} ${y - 4.5}h4l2 2v7h-6z`}
          {...line}
          strokeWidth={1.25}
          strokeLinejoin="round"
          fill="var(--surface)"
        />
      );
    case "skipped":
      return <path d={`M${middle - 3} ${y}h6`} {...line} />;
    case "due":
    case "would-run":
      return (
        <circle
          cx={middle}
          cy={y}
          r={3}
          {...line}
          strokeWidth={1.25}
          fill="var(--surface)"
          strokeDasharray={look === "would-run" ? "2 1.5" : undefined}
        />
      );
    default:
      return <circle cx={middle} cy={y} r={4} {...line} strokeWidth={1.5} fill="var(--surface)" />;
  }
}

/** The line at the instant at which the reader looked before. */
export const SinceLine = ({ x, top, bottom }: { x: number; top: number; bottom: number }) => (
  <line x1={x} x2={x} y1={top} y2={bottom} stroke="var(--accent)" strokeDasharray="3 3" />
);

/** The order of the legend: past runs, then open ones, then coming ones. */
const ORDER: readonly MarkLook[] = [
  "succeeded",
  "failed",
  "stalled",
  "missed",
  "skipped",
  "cancelled",
  "running",
  "waits",
  "queued",
  "delivered",
  "due",
  "would-run",
];

const BOX = 12;

function Sign({ children }: { children: ReactNode }) {
  return (
    <svg viewBox={`0 0 ${BOX} ${BOX}`} width={BOX} height={BOX} aria-hidden="true">
      {children}
    </svg>
  );
}

/** The looks of the marks that are drawn, with the numbers of their inputs. Coming runs have no number. */
export function Legend(props: {
  className: string | undefined;
  counts: ReadonlyMap<MarkLook, number>;
  hasSince: boolean;
}) {
  const { className, counts, hasSince } = props;
  return (
    <ul className={className} aria-label="Marks of the timeline">
      {ORDER.filter((look) => counts.has(look)).map((look) => {
        const isBar = look === "succeeded" || look === "running" || look === "cancelled";
        const width = isBar ? LEAST_BAR : GLYPH;
        return (
          <li key={look} data-legend={look}>
            <Sign>
              <MarkShape mark={{ look, x: (BOX - width) / 2, width }} y={BOX / 2} />
            </Sign>
            {look === "due" ? (
              "due"
            ) : look === "would-run" ? (
              "would run"
            ) : (
              <span>
                <strong>{counts.get(look)}</strong> {wordOf(look)}
              </span>
            )}
          </li>
        );
      })}
      {hasSince && (
        <li>
          <Sign>
            <SinceLine x={BOX / 2} top={0} bottom={BOX} />
          </Sign>
          you looked
        </li>
      )}
    </ul>
  );
}
