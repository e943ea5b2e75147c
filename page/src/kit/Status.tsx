import type { RunItem, RunStatus, SessionStatus } from "../api/types";
import css from "./kit.module.css";

/** A status as people see it. Several statuses of the API can share one. */
export type Look =
  | "succeeded"
  | "failed"
  | "missed"
  | "stalled"
  | "running"
  | "waits"
  | "queued"
  | "delivered"
  | "skipped"
  | "cancelled"
  | "paused"
  | "draft"
  | "done"
  | "archived";

const WORDS: Record<Look, string> = {
  succeeded: "succeeded",
  failed: "failed",
  missed: "did not run",
  stalled: "stalled",
  running: "running",
  waits: "waits for you",
  queued: "queued",
  delivered: "file waits",
  skipped: "skipped",
  cancelled: "cancelled",
  paused: "paused",
  draft: "draft",
  done: "completed",
  archived: "archived",
};

const COLOURS: Record<Look, string> = {
  succeeded: "var(--succeeded)",
  failed: "var(--failed)",
  missed: "var(--failed)",
  stalled: "var(--failed)",
  running: "var(--running)",
  waits: "var(--waits)",
  queued: "var(--quiet)",
  delivered: "var(--quiet)",
  skipped: "var(--quiet)",
  cancelled: "var(--quiet)",
  paused: "var(--quiet)",
  draft: "var(--quiet)",
  done: "var(--quiet)",
  archived: "var(--quiet)",
};

/** The worker of a run while its file waits in the folder of an instance. */
const TRIGGER_FILE = "trigger-file";

/** `true` if the run waits as a file for the runtime of its instance. */
export const waitsAsFile = (run: Pick<RunItem, "status" | "worker_id">): boolean =>
  run.status === "delivered" && run.worker_id === TRIGGER_FILE;

/**
 * The look of a run. A run that a worker has just claimed still waits; a lasting delivery is one of a file. Outcomes do
 * not tell their workers.
 */
export function lookOfRun({ status, worker_id }: { status: RunStatus; worker_id?: string | null }): Look {
  if (status === "delivered")
    return worker_id === undefined || worker_id === TRIGGER_FILE ? "delivered" : "queued";
  return status === "deferred" ? "queued" : status;
}

/** The look of a listed run, whose turn may wait for a person. */
export const lookOfListedRun = (run: Pick<RunItem, "status" | "waits_for_approval" | "worker_id">): Look =>
  run.status === "running" && run.waits_for_approval ? "waits" : lookOfRun(run);

/** Says for which runtime a file waits. */
export const fileTitle = (instance: string | null | undefined): string =>
  `Its file waits ${instance ? `at ${instance}` : "in a folder"} until a runtime takes it.`;

export function lookOfSession(status: SessionStatus): Look | null {
  return status === "active" ? null : status;
}

export const wordOf = (look: Look): string => WORDS[look];

function shape(look: Look) {
  const line = { fill: "none", stroke: "currentColor", strokeWidth: 1.75, strokeLinecap: "round" as const };
  switch (look) {
    case "succeeded":
    case "done":
      return <path d="m3 8.5 3.2 3.2L13 4.8" strokeLinejoin="round" {...line} />;
    case "failed":
      return <path d="m4 4 8 8m0-8-8 8" {...line} />;
    case "missed":
      return (
        <>
          <rect x="2" y="2" width="12" height="12" rx="3" {...line} strokeWidth={1.5} />
          <path d="m6 6 4 4m0-4-4 4" {...line} strokeWidth={1.5} />
        </>
      );
    case "stalled":
      return (
        <>
          <rect
            x="2"
            y="2"
            width="12"
            height="12"
            rx="3"
            strokeDasharray="2.5 2.4"
            {...line}
            strokeWidth={1.5}
          />
          <path d="m6 6 4 4m0-4-4 4" {...line} strokeWidth={1.5} />
        </>
      );
    case "running":
      return <rect x="1.5" y="5" width="13" height="6" rx="2" fill="currentColor" />;
    case "waits":
      return <path d="m8 1.5 6.5 6.5L8 14.5 1.5 8z" fill="currentColor" />;
    case "queued":
    case "draft":
      return <circle cx="8" cy="8" r="5.5" {...line} strokeWidth={1.5} />;
    case "delivered":
      return <path d="M4 2h5l3 3v9H4zM9 2v3h3" strokeLinejoin="round" {...line} strokeWidth={1.5} />;
    case "skipped":
      return (
        <>
          <circle cx="8" cy="8" r="5.5" {...line} strokeWidth={1.5} />
          <path d="M5.5 8h5" {...line} strokeWidth={1.5} />
        </>
      );
    case "cancelled":
      return (
        <>
          <circle cx="8" cy="8" r="5.5" {...line} strokeWidth={1.5} />
          <path d="m4.5 11.5 7-7" {...line} strokeWidth={1.5} />
        </>
      );
    case "paused":
      return <path d="M5.5 3.5v9m5-9v9" {...line} strokeWidth={2} />;
    case "archived":
      return (
        <path d="M2.5 4.5h11v2h-11zm1 2v6h9v-6M6.5 9h3" strokeLinejoin="round" {...line} strokeWidth={1.5} />
      );
  }
}

/** The glyph of a status, without its word. Give `title` if no word stands beside it. */
export function StatusGlyph({ look, title, size = 16 }: { look: Look; title?: string; size?: number }) {
  const named = title === undefined ? { "aria-hidden": true } : { role: "img", "aria-label": title };
  return (
    <svg
      {...named}
      viewBox="0 0 16 16"
      width={size}
      height={size}
      className={look === "running" ? `${css.glyph} ${css.pulse}` : css.glyph}
      style={{ color: COLOURS[look], width: size, height: size }}
    >
      {shape(look)}
    </svg>
  );
}

/** A status as glyph and word, in its colour. */
export function Status({ look, word, title }: { look: Look; word?: string; title?: string | undefined }) {
  return (
    <span className={css.status} style={{ color: COLOURS[look] }} title={title}>
      <StatusGlyph look={look} />
      {word ?? WORDS[look]}
    </span>
  );
}
