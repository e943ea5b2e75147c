import { describe, expect, it, test } from "vitest";
import { visible, visibleLines } from "./visible";

describe("visible", () => {
  it.each([
    ["evil \u202egpj.exe", "evil \\u{202e}gpj.exe"],
    ["a\u2066b\u2069", "a\\u{2066}b\\u{2069}"],
    ["a\u200bb\ufeff", "a\\u{200b}b\\u{feff}"],
    ["two\nlines\r\tand \u001b[31m", "two\\nlines\\r\\tand \\u{1b}[31m"],
    ["tag \u{e0041}", "tag \\u{e0041}"],
    ["\u2800\u3164", "\\u{2800}\\u{3164}"],
  ])("hidden_characters_of_%j_are_escaped_as_by_the_commands", (text, shown) => {
    expect(visible(text)).toBe(shown);
  });

  it.each(["Übersicht 日本語", "שלום עולם", "مرحبا ٣", "❤\ufe0f 👍🏽 🇨🇿", "a b\u00a0c", "\\u{202e}"])(
    "letters_and_pictures_of_%s_stay",
    (text) => {
      expect(visible(text)).toBe(text);
    },
  );
});

test("newlines_and_tabs_of_several_lines_stay", () => {
  expect(visibleLines("a\r\nb\n\tc\u202e\rd")).toBe("a\nb\n\tc\\u{202e}\\rd");
});
