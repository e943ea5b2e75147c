/** Divides the time of the attempts at an input into phases on one axis. */
import type { Run } from "../../api/types";
import { duration } from "../../kit/format";

export interface Phase {
  name: "wait" | "turn";
  /** Milliseconds since the first attempt was created. */
  from: number;
  to: number;
}

export interface Row {
  id: string;
  attempt: number;
  phases: Phase[];
  text: string;
}

export interface Phases {
  rows: Row[];
  /** The length of the axis in milliseconds. */
  total: number;
  /** Where the time went, in words. */
  sums: string;
}

type Attempt = Pick<Run, "id" | "attempt" | "created_at" | "started_at" | "ended_at" | "message" | "reason">;

export function phasesOf(attempts: Attempt[], now: number): Phases {
  const first = attempts[0];
  if (first === undefined) return { rows: [], total: 0, sums: "" };
  const zero = Date.parse(first.created_at);
  let waited = 0;
  let worked = 0;
  let total = 1;
  const rows = attempts.map((run) => {
    const created = Date.parse(run.created_at) - zero;
    const ended = (run.ended_at === null ? now : Date.parse(run.ended_at)) - zero;
    const began = run.started_at === null ? ended : Date.parse(run.started_at) - zero;
    const phases: Phase[] = [{ name: "wait", from: created, to: Math.max(created, began) }];
    if (run.started_at !== null) phases.push({ name: "turn", from: began, to: Math.max(began, ended) });
    waited += Math.max(0, began - created);
    worked += run.started_at === null ? 0 : Math.max(0, ended - began);
    total = Math.max(total, ended, created);
    const parts = [
      began - created >= 1_000 || run.started_at === null ? `waited ${duration(began - created)}` : null,
      run.started_at === null ? null : `turn ${duration(ended - began)}`,
      run.message ?? run.reason,
    ];
    return { id: run.id, attempt: run.attempt, phases, text: parts.filter(Boolean).join(", ") };
  });
  const sums = [`waited ${duration(waited)}`, worked > 0 ? `turns ${duration(worked)}` : null];
  return { rows, total, sums: sums.filter(Boolean).join(", ") };
}
