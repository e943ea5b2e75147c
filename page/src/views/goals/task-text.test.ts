import { describe, expect, it, test } from "vitest";
import type { Task, TaskDetails, TaskRun } from "../../api/types";
import { acceptanceOf, doneText, factsOf, nodeName, nodeText, outsideEditsOf, reviewOf } from "./task-text";

test("done_task_says_who_accepted_it_or_that_no_report_came", () => {
  const done = (reason: string) => doneText({ kind: "work", status: "DONE", reason });
  expect(done("judge")).toBe("accepted by the judge");
  expect(done("person")).toBe("accepted by a person");
  expect(done("unreported")).toBe("answer without a report");
  expect(done("result")).toBe("reported by its agent");
  expect(doneText({ kind: "plan", status: "DONE", reason: "result" })).toBeNull();
  expect(doneText({ kind: "check", status: "DONE", reason: "judge" })).toBe("accepted by the judge");
  expect(doneText({ kind: "work", status: "FAILED", reason: "no result reported" })).toBeNull();
  expect(doneText({ kind: "work", status: "RUNNING", reason: null })).toBeNull();
});

it.each<[Partial<Task>, string]>([
  [{}, "worker"],
  [{ priority: 0 }, "worker, priority 0"],
  [
    { seat: "worker-1", attempts: 1, priority: 9, optional: true, review: true },
    "worker, worker-1, 1 failed attempt, priority 9, optional, reviewed by the judge",
  ],
  // The place of these follows from the phase.
  [{ kind: "report", role: "planner", priority: 0 }, "the report"],
])("panel_of_a_task_with_%j_says_%s", (more, text) => {
  const task = { kind: "work", role: "worker", seat: null, round: 0, attempts: 0, priority: 5, ...more };
  expect(factsOf(task as Task)).toBe(text);
});

it.each<[Partial<TaskDetails>, (string | number)[]]>([
  [{ edits_outside_writes: ["a.md", "/etc/hosts"], more_edits_outside_writes: 0 }, ["a.md", "/etc/hosts"]],
  [{ edits_outside_writes: ["a.md"], more_edits_outside_writes: 3 }, ["a.md", 3]],
  [{ edits_outside_writes: [], more_edits_outside_writes: 0 }, []],
  // A server of the version before.
  [{}, []],
])("edits_outside_of_the_paths_of_%j_are_%j", (task, edits) => {
  expect(outsideEditsOf(task as TaskDetails)).toEqual(edits);
});

describe("acceptance", () => {
  const finding = (id: string, criterion: number | null, severity: "blocker" | "minor" = "blocker") => ({
    id,
    criterion,
    severity,
    text: `${id}.`,
    from: "judge",
  });
  const accept = (task: Partial<TaskDetails>) => {
    const { lines, others } = acceptanceOf({
      acceptance: ["short", "sourced"],
      findings: [],
      ...task,
    } as TaskDetails);
    return {
      looks: lines.map(({ look }) => look),
      about: lines.map(({ findings }) => findings.map(({ id }) => id)),
      others: others.map(({ id }) => id),
    };
  };

  it.each<[Partial<TaskDetails>, string]>([
    [{ status: "DONE", reason: "judge" }, "succeeded"],
    [{ status: "DONE", reason: "person" }, "succeeded"],
    [{ status: "DONE", reason: "result" }, "queued"],
    [{ status: "DONE", reason: "unreported" }, "queued"],
    [{ status: "RUNNING", reason: null }, "queued"],
  ])("only_a_verdict_of_the_judge_or_of_a_person_meets_lines_%j", (task, look) => {
    expect(accept(task).looks).toEqual([look, look]);
  });

  it("findings_of_the_judge_stand_at_the_lines_that_they_name", () => {
    const findings = [
      finding("source", 2),
      finding("tone", null),
      finding("beyond", 3),
      finding("words", 1, "minor"),
    ];
    expect(accept({ status: "FAILED", reason: "not accepted: source", findings })).toEqual({
      looks: ["queued", "failed"],
      about: [["words"], ["source"]],
      others: ["tone", "beyond"],
    });
  });

  it("findings_about_an_accepted_task_leave_its_lines_met", () => {
    const findings = [finding("source", 2)];
    expect(accept({ status: "DONE", reason: "person", findings })).toEqual({
      looks: ["succeeded", "succeeded"],
      about: [[], []],
      others: ["source"],
    });
  });
});

describe("verdict of a run", () => {
  type Finding = TaskDetails["findings"][number];
  const finding = (id: string, text = `${id}.`): Finding => ({
    id,
    text,
    severity: "blocker",
    criterion: null,
    from: "judge",
  });
  const run = (id: string, more: Partial<TaskRun> = {}): TaskRun =>
    ({ id, prompt: "review", verdict: null, findings: [], evidence: [], ...more }) as TaskRun;
  const review = (task: Partial<TaskDetails>, id: string) => {
    const whole = { findings: [], evidence: [], runs: [], ...task };
    const found = whole.runs.find((each) => each.id === id);
    const { word, findings, evidence } = reviewOf(found as TaskRun, whole);
    return [word, findings.map(({ text }) => text), evidence];
  };

  const first = run("1", { verdict: "send_back", findings: [finding("source")] });
  const sentBack = run("2", { verdict: "send_back", findings: [finding("source"), finding("tone")] });
  const accepted = run("2", { verdict: "accept", findings: [finding("tone")], evidence: ["Read it."] });

  it("each_review_says_its_verdict_and_the_work_has_none", () => {
    expect(review({ runs: [run("0"), first, sentBack] }, "0")).toEqual([null, [], []]);
    expect(review({ runs: [first, accepted] }, "1")).toEqual(["sent back", ["source."], []]);
    expect(review({ runs: [first, accepted] }, "2")).toEqual(["accepted", ["tone."], ["Read it."]]);
  });

  it("what_the_last_round_shows_is_not_shown_twice", () => {
    const runs = [first, sentBack, run("3")];
    const findings = [finding("source"), finding("tone")];
    expect(review({ runs, findings }, "2")).toEqual(["sent back", [], []]);
    // That of an earlier round stays, also if the judge repeats it.
    expect(review({ runs, findings }, "1")).toEqual(["sent back", ["source."], []]);
    const evidence = ["Read it."];
    expect(review({ runs: [first, accepted], findings: [finding("tone")], evidence }, "2")).toEqual([
      "accepted",
      [],
      [],
    ]);
  });

  it("findings_stay_once_the_last_round_has_others", () => {
    const findings = [{ ...finding("verify"), from: "verify" }, finding("source", "Another text.")];
    expect(review({ runs: [first], findings }, "1")).toEqual(["sent back", ["source."], []]);
  });

  it("run_of_an_earlier_server_has_no_verdict", () => {
    expect(review({ runs: [{ id: "1", prompt: "review" } as TaskRun] }, "1")).toEqual([null, [], []]);
  });
});

describe("node", () => {
  const NOW = Date.parse("2026-11-29T08:10:00Z");
  const node = (task: Partial<Task>) =>
    ({ key: "mail-2", seat: null, round: 0, round_limit: 3, ...task }) as Task;
  const begun = { seat: "worker-2", started_at: "2026-11-29T08:04:00Z" };
  const done = { ...begun, status: "DONE", ended_at: "2026-11-29T08:08:30Z" } as const;

  it.each<[Partial<Task>, string]>([
    [{ status: "PENDING", waits_for: "mail-1, images (FAILED)" }, "waits for mail-1, images (FAILED)"],
    [{ status: "READY", waits_for: "a seat with the role worker" }, "waits for any worker"],
    [{ status: "READY", waits_for: "the seat worker-2, which is offline" }, "waits for worker-2"],
    [{ status: "READY", waits_for: "mail-1, which writes the same paths" }, "waits for mail-1"],
    [{ status: "READY" }, "ready"],
    [{ ...begun, status: "RUNNING", step: "work" }, "worker-2, 6 min"],
    [{ ...begun, status: "RUNNING", step: "work", round: 1 }, "worker-2, round 2 of 3"],
    [{ ...begun, status: "RUNNING", step: "work", waits_for: "the seat worker-2" }, "waits for worker-2"],
    [{ ...begun, status: "RUNNING", step: "review", seat: "judge", round: 1 }, "in review, judge"],
    [
      { ...begun, status: "RUNNING", step: "question", waits_for: "the answer to a question" },
      "asks you, worker-2",
    ],
    [
      {
        ...begun,
        status: "RUNNING",
        step: "checks",
        seat: null,
        waits_for: "a person, because it cannot run",
      },
      "waits for you",
    ],
    [done, "worker-2, 4 min 30 s"],
    [{ ...done, status: "FAILED", round: 3 }, "worker-2, round 3 of 3"],
    [{ status: "CANCELLED", ended_at: "2026-11-29T08:08:30Z" }, "cancelled"],
  ])("line_of_%j_is_%s", (task, text) => {
    expect(nodeText(node(task), NOW)).toBe(text);
  });

  it("name_has_the_state_and_all_that_the_line_leaves_out", () => {
    expect(nodeName(node({ ...done, round: 1 }))).toBe("mail-2, done, worker-2, round 2 of 3, 4 min 30 s");
    expect(nodeName(node({ status: "READY", waits_for: "the seat worker-2, which is offline" }))).toBe(
      "mail-2, ready, waits for the seat worker-2, which is offline",
    );
    expect(nodeName(node({ ...begun, status: "RUNNING", step: "work" }))).toBe("mail-2, running, worker-2");
  });

  it("hidden_characters_of_other_keys_are_shown", () => {
    const task = node({ key: "a\u202e", status: "PENDING", waits_for: "b\u200b" });
    expect(nodeText(task, NOW)).toBe("waits for b\\u{200b}");
    expect(nodeName(task)).toBe("a\\u{202e}, pending, waits for b\\u{200b}");
  });
});
