import { expect, test } from "vitest";
import type { Automation, GoalSummary, Permission, SessionItem } from "../api/types";
import type { View } from "../views/registry";
import { choicesFor, type Findable, ratingOf } from "./choices";

const session = (title: string, id = `ses_${title}`) => ({ id, title }) as SessionItem;
const automation = (name: string, state = "enabled") => ({ id: `aut_${name}`, name, state }) as Automation;
const VIEWS = [{ label: "Runs", href: "/runs", icon: () => null }] as unknown as View[];
const ALL: Permission[] = ["sessions:write", "automations:write"];

function labels(text: string, more: Partial<Findable> = {}): string[] {
  const findable = { views: VIEWS, sessions: [], automations: [], goals: [], permissions: ALL, ...more };
  return choicesFor(text, findable).map((choice) => choice.label);
}

test("text_in_no_name_finds_nothing", () => {
  expect(labels("zebra", { sessions: [session("Standup")], automations: [automation("tidy")] })).toEqual([]);
});

test("every_word_of_text_must_match", () => {
  const automations = [automation("tidy"), automation("standup")];
  expect(labels("run tidy", { automations })).toEqual(["Run tidy now"]);
});

test("viewer_gets_no_action", () => {
  const automations = [automation("tidy")];
  expect(labels("tidy", { automations, permissions: [] })).toEqual(["tidy"]);
  const begun = labels("", { automations, permissions: [] });
  expect(begun.filter((label) => label.startsWith("New"))).toEqual([]);
});

test("paused_automation_is_resumed_and_not_paused", () => {
  const found = labels("tidy", { automations: [automation("tidy", "paused")] });
  expect(found).toContain("Resume tidy");
  expect(found).not.toContain("Pause tidy");
});

test("without_text_newest_five_of_each_kind_are_shown", () => {
  const sessions = ["One", "Two", "Three", "Four", "Five", "Six"].map((title) => session(title));
  const found = labels("", { sessions });
  expect(found).toContain("Five");
  expect(found).not.toContain("Six");
  expect(found.slice(0, 3)).toEqual(["New conversation", "New automation", "New goal"]);
});

test("text_finds_at_most_thirty", () => {
  const sessions = Array.from({ length: 100 }, (_, index) => session(`Release ${index}`));
  expect(labels("release", { sessions })).toHaveLength(30);
});

test("goal_is_found_by_its_title_and_by_its_text", () => {
  const goals = [
    { id: "ses_01", title: "A guide to tea", goal: "Write it." },
    { id: "ses_02", title: null, goal: "Compare the offers." },
  ] as GoalSummary[];
  expect(labels("guide goal", { goals })).toEqual(["A guide to tea"]);
  expect(labels("offers", { goals })).toEqual(["Compare the offers."]);
  const found = choicesFor("tea", { views: [], sessions: [], automations: [], goals, permissions: [] });
  expect(found.map(({ act }) => act)).toEqual(["/goals/ses_01"]);
});

test.each<[Partial<GoalSummary>, string[]]>([
  [{ state: "active" }, ["Pause A guide"]],
  [{ state: "paused", reason: "person" }, ["Resume A guide"]],
  [{ state: "paused", reason: "approve_plan" }, []],
  [{ state: "done" }, []],
])("moves_of_goal_%j", (more, found) => {
  const goals = [{ id: "ses_01", title: "A guide", goal: "Write it.", ...more } as GoalSummary];
  expect(labels("guide", { goals }).filter((label) => label !== "A guide")).toEqual(found);
  expect(labels("guide", { goals, permissions: ["automations:write"] })).toEqual(["A guide"]);
});

test("pasted_id_of_a_goal_goes_to_the_goal", () => {
  const goals = [{ id: "ses_0190a1b2", title: "A guide", goal: "Write it." }] as GoalSummary[];
  const addressOf = (text: string) =>
    choicesFor(text, { views: [], sessions: [], automations: [], goals, permissions: [] })[0]?.act;
  expect(addressOf(" SES_0190a1b2 ")).toBe("/goals/ses_0190a1b2");
  expect(addressOf("ses_0190a1b3")).toBe("/conversations/ses_0190a1b3");
});

test("group_of_best_choice_is_first", () => {
  const automations = [automation("runner")];
  expect(labels("runner", { automations })[0]).toBe("runner");
  expect(labels("run runner", { automations })[0]).toBe("Run runner now");
});

test("pasted_id_is_first", () => {
  expect(labels("run_0190a1b2")[0]).toBe("run_0190a1b2");
});

test.each([
  ["news", 4.5],
  ["letter", 2.5],
  ["nwsl", 1.5],
  ["nw", 0],
  ["conv", 3],
  ["spring news", 8],
  ["ses_01ab", 3],
  ["01ab", 0],
])("rating_of_%s_is_%d", (text, rating) => {
  const choice = {
    key: "",
    group: "Go to",
    label: "Newsletter",
    note: "conversation",
    id: "ses_01abcd",
  } as const;
  const label = text.startsWith("spring") ? "Spring newsletter" : choice.label;
  expect(ratingOf({ ...choice, label }, text)).toBe(rating);
});
