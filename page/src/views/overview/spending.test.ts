import { expect, test } from "vitest";
import { lineOf, silentText } from "./Spending";

const reported = (runs: number, with_cost: number) => ({ runs, with_cost, with_tokens: 0 });

test("month_says_for_how_many_runs_no_cost_was_reported", () => {
  expect(silentText(reported(5, 2))).toBe("; 3 runs not reported");
  expect(silentText(reported(5, 4))).toBe("; 1 run not reported");
  expect(silentText(reported(5, 5))).toBe("");
});

test("each_spender_has_a_line_of_its_own_and_a_goal_leads_to_its_view", () => {
  const usd = { amount: "0.42", currency: "USD" };
  const nobody = { automation_id: null, automation_name: null, goal_id: null, goal_title: null };
  const line = (more: object) => lineOf({ ...nobody, cost: usd, tokens: 0, turns: 1, ...more });
  const goal = { goal_id: "ses_1", goal_title: "Write of \u202etea" };
  const lines = [
    line({}),
    line({ automation_id: "aut_1", automation_name: "standup" }),
    line(goal),
    line({ ...goal, cost: { amount: "1.10", currency: "EUR" } }),
    line({ goal_id: "ses_2", goal_title: "Write of coffee" }),
  ];
  expect(lines.map(({ label, href }) => [label, href])).toEqual([
    ["conversations", null],
    ["standup", null],
    ["Write of \\u{202e}tea", "/goals/ses_1"],
    ["Write of \\u{202e}tea", "/goals/ses_1"],
    ["Write of coffee", "/goals/ses_2"],
  ]);
  expect(new Set(lines.map(({ key }) => key)).size).toBe(lines.length);
});
