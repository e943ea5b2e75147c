import { describe, expect, test } from "vitest";
import { answerOf, fieldsOf } from "./form";

const schema = {
  type: "object",
  properties: {
    name: { type: "string", title: "Your name" },
    colour: { type: "string", enum: ["red", "blue"], default: "red" },
    size: { type: "integer", default: 3 },
    now: { type: "boolean" },
    days: { type: "array", items: { anyOf: [{ const: "mon", title: "Monday" }] } },
  },
  required: ["name", "colour"],
};

describe("fieldsOf", () => {
  test("each type of the protocol has its input and its default", () => {
    const fields = fieldsOf(schema);
    expect(fields.map((field) => [field.title, field.kind, field.initial, field.required])).toEqual([
      ["Your name", "text", "", true],
      ["colour", "choice", "red", true],
      ["size", "number", "3", false],
      ["now", "boolean", false, false],
      ["days", "choices", [], false],
    ]);
    expect(fields[4]?.choices).toEqual([{ value: "mon", title: "Monday" }]);
  });

  test("what is no schema has no fields", () => {
    for (const broken of [null, 7, {}, { properties: null }]) expect(fieldsOf(broken)).toEqual([]);
  });
});

describe("answerOf", () => {
  test("the answer has the types of the fields, and no empty ones", () => {
    const fields = fieldsOf(schema);
    expect(answerOf(fields, { name: "Ada", size: "", now: true })).toEqual({
      name: "Ada",
      colour: "red",
      now: true,
    });
    expect(answerOf(fields, { name: "", size: "4", days: ["mon"] })).toEqual({
      name: "",
      colour: "red",
      size: 4,
      now: false,
      days: ["mon"],
    });
  });
});
