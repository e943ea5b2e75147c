import { expect, test } from "vitest";
import { expressionOf, simpleOf } from "./schedule";

test("the usual expressions become fields and the same expression again", () => {
  for (const expression of ["30 2 * * *", "0 9 * * 1-5", "5 17 * * 0", "40 * * * *", "*/15 * * * *"]) {
    const simple = simpleOf(expression);
    expect(simple, expression).not.toBeNull();
    expect(simple && expressionOf(simple)).toBe(expression);
  }
});

test("an expression without fields stays as it was written", () => {
  for (const expression of [
    "",
    "@daily",
    "0 9 1 * *",
    "0 9 * 2 *",
    "0 9,17 * * *",
    "0 9 * * 1,3",
    "0 9 * * MON",
    "*/7 * * * *",
    "0 */2 * * *",
    "61 9 * * *",
    "0 24 * * *",
    "0 9 * * 7",
    "0 0 9 * * *",
    "5 * * * 1",
  ]) {
    expect(simpleOf(expression), expression).toBeNull();
  }
});
