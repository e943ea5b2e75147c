import { expect, test } from "vitest";
import { phasesOf } from "./waterfall";

const attempt = (number: number, created: string, started: string | null, ended: string | null) => ({
  id: `run_${number}`,
  attempt: number,
  created_at: `2026-11-19T08:00:${created}Z`,
  started_at: started && `2026-11-19T08:00:${started}Z`,
  ended_at: ended && `2026-11-19T08:00:${ended}Z`,
  message: null,
  reason: null,
});

const now = Date.parse("2026-11-19T08:01:00Z");

test("attempts stand on one axis, each with its wait and its turn", () => {
  const { rows, total, sums } = phasesOf([attempt(1, "00", "02", "12"), attempt(2, "20", "20", "30")], now);
  expect(total).toBe(30_000);
  expect(rows.map((row) => row.phases.map((phase) => [phase.name, phase.from, phase.to]))).toEqual([
    [
      ["wait", 0, 2_000],
      ["turn", 2_000, 12_000],
    ],
    [
      ["wait", 20_000, 20_000],
      ["turn", 20_000, 30_000],
    ],
  ]);
  expect(sums).toBe("waited 2 s, turns 20 s");
});

test("an attempt that has not begun waits until now", () => {
  const { rows, total } = phasesOf([attempt(1, "00", null, null)], now);
  expect(total).toBe(60_000);
  expect(rows[0]?.text).toBe("waited 1 min");
});
