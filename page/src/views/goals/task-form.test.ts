import { expect, it, test } from "vitest";
import type { Task, TaskDetails } from "../../api/types";
import { actionsOf, differingFields, fieldOfProblem, formOfTask, patchOfForm, rebased } from "./task-form";

const TASK = {
  title: "Draft mail 2",
  description: "Write it.\n\nKeep it short.",
  acceptance: ["It has one link.", "It has at most\n120 words."],
  priority: 5,
} as TaskDetails;

const FORM = formOfTask(TASK);

test("form_has_one_line_for_each_acceptance_line", () => {
  expect(FORM).toEqual({
    title: "Draft mail 2",
    description: "Write it.\n\nKeep it short.",
    acceptance: "It has one link.\nIt has at most 120 words.",
    priority: "5",
  });
});

it.each<[Partial<typeof FORM>, object]>([
  [{}, {}],
  [{ title: " Draft the second mail " }, { title: "Draft the second mail" }],
  [{ description: "" }, { description: "" }],
  [
    { acceptance: " It has a date. \n\n It has one link.\n" },
    { acceptance: ["It has a date.", "It has one link."] },
  ],
  [{ acceptance: "" }, { acceptance: [] }],
  [{ priority: "0" }, { priority: 0 }],
  [
    { title: "x", priority: "9" },
    { title: "x", priority: 9 },
  ],
])("patch_has_only_what_the_person_has_changed_%j", (change, patch) => {
  expect(patchOfForm({ ...FORM, ...change }, TASK)).toEqual(patch);
});

test("conflict_keeps_what_the_person_has_changed_and_takes_the_rest", () => {
  const stored = formOfTask({ ...TASK, title: "Theirs", description: "Theirs", acceptance: [] });
  const mine = { ...FORM, title: "Mine", priority: "1" };
  const form = rebased(mine, FORM, stored);
  expect(form).toEqual({ title: "Mine", description: "Theirs", acceptance: "", priority: "1" });
  expect(differingFields(form, stored)).toEqual(["title", "priority"]);
});

it.each<[Task["status"], boolean, boolean, string[]]>([
  ["READY", true, false, ["Save"]],
  ["READY", false, false, ["Save (off)"]],
  ["PENDING", true, true, ["Save mine"]],
  ["FAILED", true, false, ["Save", "Save and retry"]],
  ["FAILED", false, false, ["Save (off)", "Save and retry (off)"]],
  ["FAILED", true, true, ["Save mine", "Save mine and retry"]],
  // Another person has saved the same.
  ["FAILED", false, true, ["Save mine (off)", "Retry (no save)"]],
  // The task has begun or is over meanwhile.
  ["RUNNING", true, true, []],
  ["DONE", true, true, []],
  ["CANCELLED", true, true, []],
])(
  "form_of_a_%s_task_with_changes_%s_and_conflict_%s_offers_%j",
  (status, isChanged, hasConflict, offered) => {
    const actions = actionsOf({ status }, { isChanged, hasConflict });
    expect(
      actions.map(
        ({ label, saves, enabled }) => label + (saves ? "" : " (no save)") + (enabled ? "" : " (off)"),
      ),
    ).toEqual(offered);
  },
);

test("problem_names_a_field_of_the_form_or_none", () => {
  expect(fieldOfProblem("acceptance")).toBe("acceptance");
  expect(fieldOfProblem("If-Match")).toBeNull();
  expect(fieldOfProblem(null)).toBeNull();
});
