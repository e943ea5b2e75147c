import { expect, test } from "vitest";
import type { Question } from "../../api/types";
import { answerText, endText, lateText } from "./answering";

const question = (fields: Partial<Question>): Question =>
  ({ closed_at: null, answer: null, answered_by: null, ...fields }) as Question;

test("an answer names its author, and a default says that nobody answered", () => {
  const answered = question({ state: "answered", answered_by: "laptop", answer: "blue" });
  expect(endText(answered)).toBe("laptop answered: blue");
  const declined = question({ state: "answered", answered_by: "laptop", declined: true });
  expect(endText(declined)).toBe("laptop declined to answer.");
  const atServer = question({ state: "answered", answered_by: "socket", answer: "blue" });
  expect(endText(atServer)).toBe("A person at the server answered: blue");
  expect(endText(question({ state: "expired", answer: "red" }))).toBe(
    "Nobody answered in time, so the default counts: red",
  );
  expect(endText(question({ state: "expired" }))).toBe("Nobody answered in time.");
  expect(endText(question({ state: "void" }))).toBe("No answer can reach the agent any more.");
});

test("the answer to a form is shown as JSON", () => {
  expect(answerText({ colour: "blue" })).toBe('{"colour":"blue"}');
});

test("a typed text came too late only if it is not the stored answer", () => {
  const answered = question({ state: "answered", answered_by: "laptop", answer: "blue" });
  expect(lateText(answered, "green")).toBe("green");
  // The answer was stored, but its response was lost.
  expect(lateText(answered, " blue ")).toBeNull();
  expect(lateText(answered, "")).toBeNull();
  expect(lateText(question({ state: "expired" }), "blue")).toBe("blue");
});
