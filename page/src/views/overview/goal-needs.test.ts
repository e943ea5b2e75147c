import { expect, it } from "vitest";
import type { WaitingGoal } from "../../api/types";
import { needOfGoal } from "./goal-needs";

it.each<[Partial<WaitingGoal>, string, RegExp]>([
  [{ reason: "approve_plan" }, "has a plan", /approve/],
  [{ reason: "stuck", cause: "no verdict" }, "is stuck: no verdict", /^Retry/],
  [{ reason: "stuck", cause: "no plan" }, "is stuck: no plan", /^Change its text.*then resume/],
  [{ reason: "stuck", cause: "goal sent back" }, "is stuck: goal sent back", /^Accept the check/],
  [
    { reason: "stuck", cause: "nothing can run" },
    "is stuck: nothing can run",
    /^Retry, edit, accept or cancel a task/,
  ],
  [{ reason: "stuck", cause: null }, "is stuck", /^Retry/],
  [{ reason: "budget" }, "is paused: a limit is reached", /^Raise/],
  [{ reason: "given_up" }, "has failed: it was stuck for too long", /report/],
  // A later server may have further reasons.
  [{ reason: "moonlight" as "stuck" }, "is paused", /^Resume/],
])("need_of_goal_%j", (goal, state, wanted) => {
  const need = needOfGoal({ reason: "stuck", cause: null, ...goal });
  expect(need.state).toBe(state);
  expect(need.wanted).toMatch(wanted);
});
