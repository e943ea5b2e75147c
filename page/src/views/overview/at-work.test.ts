import { expect, test } from "vitest";
import type { RunItem } from "../../api/types";
import { goalsAtWork } from "./at-work";

const turn = (session_id: string, source: RunItem["source"] = "task", waits_for_approval = false) => ({
  session_id,
  source,
  waits_for_approval,
});

test("turn_that_waits_for_a_person_or_is_of_no_task_is_no_goal_at_work", () => {
  const turns = [turn("ses_1", "person"), turn("ses_2", "message"), turn("ses_3", "task", true)];
  expect(goalsAtWork(turns, 3)).toEqual({ count: 0, more: false });
});

test("goal_with_several_turns_counts_once", () => {
  const turns = [turn("ses_1"), turn("ses_1"), turn("ses_2", "task", true), turn("ses_2")];
  expect(goalsAtWork(turns, 4)).toEqual({ count: 2, more: false });
});

test("number_of_goals_is_open_if_the_server_lists_only_some_turns", () => {
  const turns = Array.from({ length: 10 }, () => turn("ses_1"));
  expect(goalsAtWork(turns, 11)).toEqual({ count: 1, more: true });
  expect(goalsAtWork(turns, 10)).toEqual({ count: 1, more: false });
  // A turn that a server has claimed is not listed yet.
  expect(goalsAtWork([turn("ses_1")], 2)).toEqual({ count: 1, more: false });
});
