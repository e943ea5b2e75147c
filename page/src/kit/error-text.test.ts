import { expect, test } from "vitest";
import { ApiProblem } from "../api/problem";
import { errorText, sentence } from "./ErrorState";

const problem = (detail: string, hint?: string) =>
  new ApiProblem({
    type: "about:blank",
    kind: "invalid",
    title: "Invalid",
    status: 422,
    detail,
    ...(hint && { hint }),
  });

test("sentence_begins_with_a_capital_letter_but_names_stay", () => {
  expect(sentence("the goal is failed")).toBe("The goal is failed.");
  expect(sentence("invalid `limits.turns`: 0")).toBe("Invalid `limits.turns`: 0.");
  expect(sentence("cancelled")).toBe("Cancelled.");
  expect(sentence("failed: no plan")).toBe("Failed: no plan.");
  expect(sentence("team.toml:2:1: unknown key foo")).toBe("team.toml:2:1: unknown key foo.");
  expect(sentence("sessions:write is needed")).toBe("sessions:write is needed.");
});

test("lines_of_a_detail_stay_lines", () => {
  const lines = "team.toml:2:1: unknown key foo\nteam.toml:3:1: there are 99 seats";
  expect(errorText(problem(lines, "`matins team check` checks it"))).toBe(
    `${lines}.\n\`matins team check\` checks it.`,
  );
  expect(errorText(problem("the goal is failed", "begin another one"))).toBe(
    "The goal is failed. Begin another one.",
  );
});
