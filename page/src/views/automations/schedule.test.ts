import { expect, test } from "vitest";
import { expressionOf, simpleOf, triggerWords } from "./schedule";

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

test("steps of hours are told in words", () => {
  for (const [expression, words] of [
    ["0 6-22/2 * * *", "every 2 h, 06:00 to 22:00"],
    ["15 8-18/3 * * *", "every 3 h, 08:15 to 17:15"],
    ["5 */4 * * *", "every 4 h at :05"],
    ["0 6-22/2 * * 1-5", "cron 0 6-22/2 * * 1-5"],
  ] as const) {
    expect(triggerWords({ kind: "cron", expression, zone: "UTC" } as never)).toBe(words);
  }
});
