import type { RunOutcome } from "../api/types";
import { type Look, lookOfRun, wordOf } from "./Status";

const CELL = 5;
const GAP = 2;
const HEIGHT = 16;

const HEIGHTS: Partial<Record<Look, number>> = {
  succeeded: 8,
  running: 8,
  skipped: 3,
  cancelled: 8,
  queued: 6,
  delivered: 6,
};

const HOLLOW: ReadonlySet<Look> = new Set(["missed", "stalled", "cancelled", "queued", "delivered"]);

/** Shows the outcomes of runs, the newest right. Height and outline speak without colour. */
export function OutcomeStrip({ outcomes, cells = 30 }: { outcomes: RunOutcome[]; cells?: number }) {
  const shown = outcomes.slice(0, cells).reverse();
  if (shown.length === 0) return null;
  const counts = new Map<string, number>();
  for (const run of shown) {
    const word = wordOf(lookOfRun(run));
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  const label = `Last ${shown.length} runs: ${[...counts].map(([word, count]) => `${count} ${word}`).join(", ")}`;
  const width = shown.length * (CELL + GAP) - GAP;
  return (
    <svg role="img" aria-label={label} width={width} height={HEIGHT} viewBox={`0 0 ${width} ${HEIGHT}`}>
      <title>{label}</title>
      {shown.map((run, index) => (
        <Cell key={run.run_id} look={lookOfRun(run)} x={index * (CELL + GAP)} />
      ))}
    </svg>
  );
}

function Cell({ look, x }: { look: Look; x: number }) {
  const height = HEIGHTS[look] ?? HEIGHT;
  const y = HEIGHT - height;
  const hollow = HOLLOW.has(look);
  const colour =
    look === "succeeded"
      ? "var(--succeeded)"
      : look === "running"
        ? "var(--running)"
        : look === "failed" || look === "missed" || look === "stalled"
          ? "var(--failed)"
          : "var(--quiet)";
  return hollow ? (
    <rect
      x={x + 0.5}
      y={y + 0.5}
      width={CELL - 1}
      height={height - 1}
      rx={1}
      fill="none"
      stroke={colour}
      strokeDasharray={look === "stalled" ? "2 1.5" : undefined}
    />
  ) : (
    <rect x={x} y={y} width={CELL} height={height} rx={1} fill={colour} />
  );
}
