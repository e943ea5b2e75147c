import { readFileSync } from "node:fs";
import { describe, expect, it, test } from "vitest";
import type { Goal } from "../../api/types";
import {
  AGENTS_OF_FILE,
  agentOf,
  commandOf,
  EMPTY,
  editFieldOfProblem,
  FROM_FILE,
  faultOf,
  faultOfEdit,
  faultOfEnd,
  faultOfNew,
  fieldOfProblem,
  formOfGoal,
  isEdited,
  isRare,
  LIMIT_NAMES,
  limitsInOrder,
  patchOfForm,
  rebased,
  requestOfForm,
  withLimit,
} from "./form";

const GOAL = {
  goal: "Draft the campaign.",
  budget: { tokens: null, cost: { amount: "6.00", currency: "USD" } },
  until: "2026-11-20T06:00:17Z",
  limits: { turns: 200, replans: 5 },
} as unknown as Goal;

describe("requestOfForm", () => {
  it("empty_fields_are_absent", () => {
    expect(requestOfForm({ ...EMPTY, goal: " Draft it. " }, null)).toEqual({
      goal: "Draft it.",
      team: "research",
    });
  });

  it("file_excludes_the_name_of_a_team", () => {
    const request = requestOfForm({ ...EMPTY, goal: "x", team: FROM_FILE, teamText: 'name="own"' }, "claude");
    expect(request).toEqual({
      goal: "x",
      team_file: { name: "team.toml", text: 'name="own"' },
      agent: "claude",
    });
  });

  it("agent_is_absent_if_each_seat_names_its_own", () => {
    const agents = ["claude", "codex"].map((name) => ({ name, program: `/bin/${name}` }));
    expect(agentOf(EMPTY, agents)).toBe("claude");
    expect(agentOf({ ...EMPTY, agent: "codex" }, agents)).toBe("codex");
    expect(agentOf({ ...EMPTY, agent: AGENTS_OF_FILE }, agents)).toBe("claude");
    expect(agentOf({ ...EMPTY, team: "demo", agent: "codex" }, agents)).toBeNull();
    const file = { ...EMPTY, goal: "x", team: FROM_FILE, teamText: "" };
    expect(agentOf(file, agents)).toBe("claude");
    const own = { ...file, agent: AGENTS_OF_FILE };
    expect(agentOf(own, agents)).toBeNull();
    expect(requestOfForm(own, null)).not.toHaveProperty("agent");
  });

  it("demonstration_agent_is_chosen_only_without_a_real_one_that_is_installed", () => {
    const demo = { name: "demo", program: "/bin/matins" };
    const gemini = { name: "gemini", program: "/bin/gemini" };
    expect(agentOf(EMPTY, [demo, gemini])).toBe("gemini");
    expect(agentOf({ ...EMPTY, agent: "demo" }, [demo, gemini])).toBe("demo");
    expect(agentOf(EMPTY, [demo, { ...gemini, program: null }])).toBe("demo");
    expect(agentOf(EMPTY, [{ ...gemini, program: null }])).toBe("gemini");
    expect(agentOf(EMPTY, [])).toBeNull();
  });

  it("budget_and_commands_are_as_typed", () => {
    const form = {
      ...EMPTY,
      goal: "x",
      cost: "6.5",
      tokens: "40 000",
      verify: "cargo test -q\n\n npm test ",
      until: "2026-11-20T07:00",
      approvePlan: true,
      draft: true,
    };
    expect(requestOfForm(form, "")).toEqual({
      goal: "x",
      team: "research",
      budget: { cost: { amount: "6.5", currency: "USD" }, tokens: 40_000 },
      verify: ["cargo test -q", "npm test"],
      until: new Date("2026-11-20T07:00").toISOString(),
      approve_plan: true,
      draft: true,
    });
  });

  it("rare_fields_are_sent_once_they_are_filled", () => {
    const form = withLimit(
      withLimit({ ...EMPTY, goal: "x", title: " Tea ", key: " tea ", on: "attic" }, "plan", "9"),
      "turns",
      "1 000",
    );
    const request = { goal: "x", title: "Tea", team: "research", key: "tea", on: "attic" };
    expect(requestOfForm(form, null)).toEqual({ ...request, limits: { turns: 1000, plan: 9 } });
    const emptied = withLimit(withLimit(form, "turns", ""), "plan", " ");
    expect(requestOfForm(emptied, null)).toEqual(request);
    // A form without a value is an empty one, so that it leaves no draft.
    expect(withLimit(withLimit(EMPTY, "turns", "7"), "turns", "")).toEqual(EMPTY);
  });
});

describe("commandOf", () => {
  it("empty_form_has_the_place_of_the_text", () => {
    expect(commandOf(EMPTY, null)).toBe("matins goal start '…' --team research");
    expect(commandOf(EMPTY, "")).toBe("matins goal start '…' --team research");
  });

  it("each_field_is_an_option_and_texts_are_quoted", () => {
    const form = {
      ...EMPTY,
      goal: 'Compare Ann\'s "offers";\nspend $HOME',
      team: FROM_FILE,
      teamText: 'name = "own"',
      cwd: "/srv/tea/my work",
      cost: "6",
      tokens: "40 000",
      until: "2026-11-20T07:00",
      verify: "cargo test -q\n\ngrep -q 'a b' x.txt",
      approvePlan: true,
      draft: true,
      title: "Tea for two",
      key: "tea",
      on: "attic",
      limits: { plan: "9", turns: "1 000", hours: "1h" },
    };
    const until = new Date("2026-11-20T07:00").toISOString().replace(".000Z", "Z");
    expect(commandOf(form, "claude")).toBe(
      [
        `matins goal start 'Compare Ann'\\''s "offers";\nspend $HOME'`,
        "--team team.toml --agent claude --dir '/srv/tea/my work' --on attic",
        `--budget '6 USD' --budget '40000 tokens' --until ${until}`,
        "--verify 'cargo test -q' --verify 'grep -q '\\''a b'\\'' x.txt'",
        "--limit turns=1000 --limit plan=9 --limit hours=1h",
        "--approve-plan --draft --title 'Tea for two' --key tea",
      ].join(" "),
    );
  });

  it("text_with_a_hyphen_is_no_option", () => {
    expect(commandOf({ ...EMPTY, goal: "--draft it", verify: "-x" }, null)).toBe(
      "matins goal start --team research --verify=-x -- '--draft it'",
    );
  });

  it("time_that_is_none_is_left_to_the_server", () => {
    const form = { ...EMPTY, goal: "x", until: "99999-01-01T00:00" };
    expect(requestOfForm(form, null).until).toBe("99999-01-01T00:00");
    expect(commandOf(form, null)).toContain("--until 99999-01-01T00:00");
  });
});

describe("faultOf", () => {
  it.each(["200k", "abc", "1e5", "0x10", "1.5", "-3", "40,000", "99999999999999999999"])(
    "tokens_of_%s_are_refused",
    (tokens) => {
      const fault = faultOf({ tokens });
      expect(fault?.field).toBe("tokens");
      expect(fault?.text).toContain(`“${tokens}” is no whole number. Accepted are digits`);
      expect(faultOfEdit({ ...formOfGoal(GOAL), tokens })).toEqual(fault);
      expect(commandOf({ ...EMPTY, tokens }, null)).toContain(`'${tokens} tokens'`);
    },
  );

  it("whole_numbers_and_no_limit_are_accepted", () => {
    for (const tokens of ["", " ", "0", "200000", "40 000", "40_000"]) expect(faultOf({ tokens })).toBeNull();
    expect(faultOfEdit(formOfGoal(GOAL))).toBeNull();
  });

  it("each_limit_needs_a_whole_number", () => {
    const form = formOfGoal(GOAL);
    const fault = (turns: string) => faultOfEdit({ ...form, limits: { ...form.limits, turns } });
    expect(fault("abc")).toEqual({
      field: "limits.turns",
      text: "“abc” is no whole number. Accepted are digits, such as 20.",
    });
    expect(fault(" ")?.text).toMatch(/^A limit needs a number\./);
    expect(fault("300")).toBeNull();
  });

  it("limit_of_new_goal_may_be_empty", () => {
    const fault = (turns: string) => faultOfNew({ ...EMPTY, limits: { turns } });
    expect(fault("abc")).toEqual({
      field: "limits.turns",
      text: "“abc” is no whole number. Accepted are digits, such as 20.",
    });
    for (const turns of ["", " ", "300"]) expect(fault(turns)).toBeNull();
    expect(faultOfNew({ ...EMPTY, tokens: "abc" })?.field).toBe("tokens");
  });
});

test("key_host_and_limits_are_folded_at_first", () => {
  for (const field of ["key", "on", "limits.turns"]) expect(isRare(field)).toBe(true);
  for (const field of ["goal", "title", "until", null]) expect(isRare(field)).toBe(false);
});

test("page_names_all_limits_of_teams", () => {
  const source = readFileSync(`${import.meta.dirname}/../../../../crates/model/src/team/limits.rs`, "utf8");
  const names = [...source.matchAll(/limit!\(\s*"([a-z_]+)"/g)].map(([, name]) => name);
  expect(names).toContain("give_up_after_hours");
  expect([...LIMIT_NAMES].sort()).toEqual(names.sort());
});

test("edit_has_the_limits_that_can_change_in_the_order_of_their_use", () => {
  const limits = {
    plan: 1,
    turns: 200,
    hours: 24,
    question_hours: 12,
    give_up_after_hours: 24,
    new_one: 3,
    parallel: 2,
  };
  const form = formOfGoal({ ...GOAL, limits });
  expect(limitsInOrder(form.limits)).toEqual(["turns", "parallel", "plan", "new_one"]);
});

describe("fieldOfProblem", () => {
  it.each([
    [null, null],
    ["goal", "goal"],
    ["team_file.text", "teamText"],
    ["team_file", "teamText"],
    ["budget.cost.amount", "cost"],
    ["budget.cost.currency", "currency"],
    ["budget.tokens", "tokens"],
    ["verify[1]", "verify"],
    ["cwd", "cwd"],
    ["limits.turns", "limits.turns"],
    ["limits.later", null],
    ["limits", null],
    ["team.seats[0].agent", "team"],
    ["title", "title"],
    ["key", "key"],
    ["on", "on"],
    ["something_new", null],
  ])("field_of_%s_is_%s", (named, field) => {
    expect(fieldOfProblem(named)).toBe(field);
  });

  it("edit_has_limits_and_no_team", () => {
    expect(editFieldOfProblem("limits.turns")).toBe("limits.turns");
    expect(editFieldOfProblem("until")).toBe("until");
    expect(editFieldOfProblem("team")).toBeNull();
  });
});

describe("patchOfForm", () => {
  it("untouched_form_changes_nothing", () => {
    expect(patchOfForm(formOfGoal(GOAL), GOAL)).toEqual({});
  });

  it("only_changed_fields_are_sent", () => {
    const form = formOfGoal(GOAL);
    expect(patchOfForm({ ...form, goal: "Another." }, GOAL)).toEqual({ goal: "Another." });
    expect(patchOfForm({ ...form, limits: { ...form.limits, turns: "300" } }, GOAL)).toEqual({
      limits: { turns: 300 },
    });
    expect(patchOfForm({ ...form, cost: "9" }, GOAL)).toEqual({
      budget: { cost: { amount: "9", currency: "USD" } },
    });
  });

  it("emptied_limit_of_budget_is_removed_and_emptied_end_stays", () => {
    const form = { ...formOfGoal(GOAL), cost: "", until: "" };
    expect(patchOfForm(form, GOAL)).toEqual({ budget: { cost: null } });
  });

  it("only_changed_limit_of_budget_is_sent", () => {
    const both = { ...GOAL, budget: { ...GOAL.budget, tokens: 700 } } as Goal;
    const form = formOfGoal(both);
    expect(patchOfForm({ ...form, tokens: "5 000" }, both)).toEqual({ budget: { tokens: 5000 } });
    expect(patchOfForm({ ...form, tokens: "" }, both)).toEqual({ budget: { tokens: null } });
    expect(patchOfForm({ ...form, currency: "EUR" }, both)).toEqual({
      budget: { cost: { amount: "6.00", currency: "EUR" } },
    });
  });
});

test("conflict_keeps_what_the_person_changed_and_takes_the_rest", () => {
  const stored = {
    ...GOAL,
    goal: "Theirs.",
    limits: { turns: 250, replans: 7, later: 1 },
  } as unknown as Goal;
  const form = { ...formOfGoal(GOAL), cost: "9", limits: { turns: "300", replans: "5" } };
  const next = rebased(form, GOAL, stored);
  expect(next).toMatchObject({ goal: "Theirs.", cost: "9" });
  expect(next.limits).toEqual({ turns: "300", replans: "7", later: "1" });
  expect(patchOfForm(next, stored)).toEqual({
    budget: { cost: { amount: "9", currency: "USD" } },
    limits: { turns: 300 },
  });
});

describe("end of an edited goal", () => {
  const goal = { ...GOAL, until: "2026-11-29T08:00:00Z" };
  const form = formOfGoal(goal);

  it("unread_or_emptied_end_is_a_change", () => {
    expect(isEdited(form, goal, null)).toBe(false);
    expect(isEdited(form, goal, "until")).toBe(true);
    expect(isEdited({ ...form, until: "" }, goal, null)).toBe(true);
    expect(isEdited({ ...form, goal: "Another." }, goal, null)).toBe(true);
  });

  it("emptied_end_is_refused_unless_the_goal_has_none", () => {
    expect(faultOfEnd(form, goal)).toBeNull();
    expect(faultOfEnd({ ...form, until: "" }, goal)).toEqual({
      field: "until",
      text: "A goal always has an end. Write another one.",
    });
    const draft = { ...GOAL, until: null } as Goal;
    expect(faultOfEnd(formOfGoal(draft), draft)).toBeNull();
  });
});
