import { expect, test } from "vitest";
import { titleOf } from "./names";

test("title_with_hidden_characters_shows_them", () => {
  expect(titleOf({ id: "ses_1", title: "Bidi \u202edesrever si tset", session_key: null })).toBe(
    "Bidi \\u{202e}desrever si tset",
  );
});
