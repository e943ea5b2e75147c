import { expect, test } from "vitest";
import { silentText } from "./Spending";

const reported = (runs: number, with_cost: number) => ({ runs, with_cost, with_tokens: 0 });

test("month_says_for_how_many_runs_no_cost_was_reported", () => {
  expect(silentText(reported(5, 2))).toBe("; 3 runs not reported");
  expect(silentText(reported(5, 4))).toBe("; 1 run not reported");
  expect(silentText(reported(5, 5))).toBe("");
});
