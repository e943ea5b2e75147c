import { expect, test } from "vitest";
import { nameOf } from "./names";

const AUTOMATIONS = [{ id: "aut_1", name: "ti\u202edy" }];
const GOALS = [
  { id: "ses_1", title: "A guide to \u202etea", goal: "Write it." },
  { id: "ses_2", title: null, goal: "Compare the offers." },
];

test.each([
  ["aut_1", "ses_3", "ti\\u{202e}dy"],
  // A message of an automation to a seat.
  ["aut_1", "ses_1", "ti\\u{202e}dy"],
  [null, "ses_1", "A guide to \\u{202e}tea"],
  [null, "ses_2", "Compare the offers."],
  [null, "ses_3", "A conversation"],
  ["aut_2", "ses_3", "A conversation"],
])("name_of_request_of_%s_in_%s", (automation_id, session_id, name) => {
  expect(nameOf({ automation_id, session_id }, AUTOMATIONS, GOALS)).toBe(name);
});

test("request_has_a_name_before_the_lists_are_read", () => {
  expect(nameOf({ automation_id: null, session_id: "ses_1" })).toBe("A conversation");
});
