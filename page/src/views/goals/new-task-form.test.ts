import { describe, expect, it, test } from "vitest";
import type { Task, TaskDetails } from "../../api/types";
import {
  changesText,
  choicesOf,
  emptyTask,
  fieldOfProblem,
  firstKey,
  formReplacing,
  isFolded,
  offeredChecks,
  requestOf,
  rolesOf,
} from "./new-task-form";

const task = (key: string, more: object = {}) =>
  ({ key, title: `Title of ${key}`, kind: "work", status: "PENDING", ...more }) as Task;

const seats = (...roles: string[]) => roles.map((role) => ({ role }));

test("roles_are_those_of_the_seats_without_the_planner", () => {
  expect(rolesOf(seats("planner", "writer", "worker", "worker", "judge"))).toEqual([
    "writer",
    "worker",
    "judge",
  ]);
});

it.each([
  [["writer", "worker", "judge"], "worker"],
  [["judge", "writer"], "writer"],
  [["judge"], "judge"],
  [[], ""],
])("first_role_of_%j_is_%s", (roles, role) => {
  expect(emptyTask(roles).role).toBe(role);
});

test("checks_that_tasks_have_anyway_are_not_offered", () => {
  const names = ["verify", "verify-2", "verify-all", "tests"];
  expect(offeredChecks(names)).toEqual(["verify-all", "tests"]);
});

describe("requestOf", () => {
  const form = { ...emptyTask(["worker"]), key: " mail-2 ", title: " Draft it " };

  it("request_has_only_what_differs_from_the_defaults", () => {
    expect(requestOf(form, 3, null)).toEqual({
      plan_version: 3,
      tasks: [{ key: "mail-2", title: "Draft it", role: "worker" }],
    });
  });

  it("request_has_each_field_of_the_form", () => {
    const full = {
      ...form,
      description: "Write it.\n",
      depends_on: ["tone", "posts"],
      acceptance: " It has one link.\n\nIt is short.",
      priority: "0",
      optional: true,
      replaces: ["mail"],
      checks: ["tests"],
      writes: "mails/\nnotes.md",
      review: true,
      each: "spring\nautumn",
    };
    expect(requestOf(full, 0, null).tasks).toEqual([
      {
        key: "mail-2",
        title: "Draft it",
        role: "worker",
        description: "Write it.",
        depends_on: ["tone", "posts"],
        acceptance: ["It has one link.", "It is short."],
        priority: 0,
        optional: true,
        replaces: ["mail"],
        checks: ["tests"],
        writes: ["mails/", "notes.md"],
        review: true,
        each: ["spring", "autumn"],
      },
    ]);
  });
});

describe("request_in_place_of_a_task", () => {
  const form = { ...emptyTask(["worker"]), key: "mail-2" };
  const first = (change: object, replaced: string[] | null) =>
    requestOf({ ...form, ...change }, 3, replaced && { writes: replaced }).tasks?.[0];

  // The default of the role may be the whole directory.
  it.each<[string[] | null, string, string[] | undefined]>([
    [[], "", []],
    [[], " \n", []],
    [[], "notes.md", ["notes.md"]],
    [["notes.md"], "", undefined],
    [null, "", undefined],
  ])("writes_in_place_of_%j_with_field_%j_are_%j", (replaced, writes, sent) => {
    expect(first({ writes }, replaced)?.writes).toEqual(sent);
  });

  it("checks_leave_out_those_that_tasks_have_anyway", () => {
    expect(first({ checks: ["verify", "tests", "verify-2"] }, null)?.checks).toEqual(["tests"]);
    expect(first({ checks: ["verify"] }, null)).not.toHaveProperty("checks");
  });
});

describe("formReplacing", () => {
  const failed = {
    ...task("posts/3", { status: "FAILED" }),
    description: "Write it.",
    acceptance: ["It has\none link."],
    priority: 2,
    role: "worker",
    depends_on: ["tone", "texts/1", "texts/2", "pictures/1"],
    optional: false,
    review: true,
    checks: ["tests", "verify"],
    writes: ["posts/3.md"],
  } as TaskDetails;
  const tasks = [
    task("tone", { status: "DONE" }),
    task("texts/1"),
    task("texts/2"),
    task("pictures/1"),
    task("pictures/2"),
    failed,
  ];

  it("form_has_the_fields_of_the_task_and_another_key", () => {
    expect(formReplacing(failed, tasks)).toEqual({
      key: "posts-3-again",
      title: "Title of posts/3",
      description: "Write it.",
      role: "worker",
      depends_on: ["texts", "tone", "pictures/1"],
      acceptance: "It has one link.",
      priority: "2",
      optional: false,
      replaces: ["posts/3"],
      checks: ["tests"],
      writes: "posts/3.md",
      review: true,
      each: "",
    });
  });

  it.each([
    ["mail", [], "mail-again"],
    ["mail", ["mail-again", "mail-again-2"], "mail-again-3"],
    // The key of a group is in use, too.
    ["mail", ["mail-again/1"], "mail-again-2"],
    ["mail-again", ["mail-again"], "mail-again-2"],
    ["k".repeat(40), [], `${"k".repeat(30)}-again`],
  ])("key_in_place_of_%s_beside_%j_is_%s", (key, others, free) => {
    const own = { ...failed, key };
    expect(formReplacing(own, [own, ...others.map((other) => task(other))]).key).toBe(free);
  });
});

describe("choicesOf", () => {
  const tasks = [
    task("plan#1", { kind: "plan", status: "DONE" }),
    task("tone", { status: "DONE" }),
    task("old", { status: "CANCELLED" }),
    task("posts/1", { status: "DONE" }),
    task("posts/2", { status: "RUNNING" }),
    task("mail", { status: "FAILED" }),
  ];
  const names = (field: "depends_on" | "replaces", named: { depends_on?: string[]; replaces?: string[] }) =>
    choicesOf(field, tasks, { depends_on: [], replaces: [], ...named }).map(({ key, task: own, text }) =>
      own === null ? `${key}: ${text}` : key,
    );

  it("new_task_can_wait_for_all_but_cancelled_ones_and_those_that_it_replaces", () => {
    const all = ["tone", "posts: all 2 tasks", "posts/1", "posts/2", "mail"];
    expect(names("depends_on", {})).toEqual(all);
    expect(names("depends_on", { replaces: ["mail"] })).toEqual(all.slice(0, -1));
  });

  it("new_task_can_replace_those_that_are_not_over_and_failed_ones", () => {
    expect(names("replaces", {})).toEqual(["posts/2", "mail"]);
  });

  it("task_that_is_over_by_now_stays_if_it_was_chosen", () => {
    const replaces = ["tone", "posts"];
    expect(names("replaces", { replaces })).toEqual(["tone", "posts: all 2 tasks", "posts/2", "mail"]);
    expect(names("depends_on", { depends_on: ["old"] })).toContain("old");
  });
});

it.each([
  [422, "tasks[0].role", "role"],
  [422, "tasks[0].depends_on", "depends_on"],
  [422, "tasks[0].depends_on[2]", "depends_on"],
  [422, "tasks[0].each", "each"],
  // A tick has no place for a text.
  [422, "tasks[0].review", null],
  [422, "tasks[0]", null],
  [422, "tasks", null],
  [409, "tasks", "replaces"],
  [409, undefined, null],
])("problem_%i_at_%s_belongs_to_%s", (status, field, own) => {
  expect(fieldOfProblem(status, field)).toBe(own);
});

test("rare_fields_are_folded", () => {
  expect(["checks", "writes", "each"].every(isFolded)).toBe(true);
  expect(["key", "replaces", null].some(isFolded)).toBe(false);
});

test("changes_of_the_plan_name_new_and_cancelled_tasks", () => {
  const seen = [task("tone"), task("mail"), task("old", { status: "CANCELLED" })];
  const stored = [
    task("tone", { status: "DONE" }),
    task("mail", { status: "CANCELLED" }),
    task("old", { status: "CANCELLED" }),
    task("letter"),
    task("flyer"),
    task("plan#2", { kind: "plan" }),
  ];
  expect(changesText(seen, stored)).toBe("New: letter, flyer. Cancelled: mail.");
  expect(changesText(seen, [task("tone", { title: "Another" }), ...seen.slice(1)])).toBe("");
});

test("added_task_is_the_one_with_the_key_or_its_first_item", () => {
  expect(firstKey("mail", [{ key: "mail-2" }, { key: "mail" }])).toBe("mail");
  expect(firstKey("mail", [{ key: "mail/1" }, { key: "mail/2" }])).toBe("mail/1");
  expect(firstKey("mail", [{ key: "tone" }])).toBeNull();
});
