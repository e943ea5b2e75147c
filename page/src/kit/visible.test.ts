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

describe("visibleLines", () => {
  it.each([
    "می\u200cخواهم",
    "क्\u200dष and क्\u200cष",
    "👩\u200d💻 👩🏽\u200d🚀 ❤\ufe0f\u200d🔥",
    "葛\u{e0100}城 晴\ufe00",
    "ᠠ\u180b",
    "\u{1f3f4}\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
  ])("characters_that_shape_%s_stay", (text) => {
    expect(visibleLines(text)).toBe(text);
  });

  it.each([
    ["rm\u200ca \u200d", "rm\\u{200c}a \\u{200d}"],
    ["می\u200c\u200cخ می\u200c", "می\\u{200c}\\u{200c}خ می\\u{200c}"],
    ["👩\u200dx", "👩\\u{200d}x"],
    ["葛\u{e0100}\u{e0101}", "葛\u{e0100}\\u{e0101}"],
    ["👩\u{e0061}\u{e0062}", "👩\\u{e0061}\\u{e0062}"],
    ["\u{1f3f4}\u{e0061}\u{e007f}", "\u{1f3f4}\\u{e0061}\\u{e007f}"],
    ["می\u202eخ", "می\\u{202e}خ"],
  ])("characters_that_shape_nothing_in_%j_are_escaped", (text, shown) => {
    expect(visibleLines(text)).toBe(shown);
  });
});

test("joiners_in_names_are_escaped", () => {
  expect(visible("می\u200cخواهم")).toBe("می\\u{200c}خواهم");
});
