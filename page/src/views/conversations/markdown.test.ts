import { describe, expect, test } from "vitest";
import { blocksOf, namesHost, safeHost } from "./Markdown";

describe("blocksOf", () => {
  test("a text splits at blank lines before plain lines, and joins to itself", () => {
    const text = "One.\n\nTwo.\n\n```js\na\n\nb\n```\n\nThree.";
    expect(blocksOf(text)).toEqual(["One.\n", "Two.\n", "```js\na\n\nb\n```\n", "Three."]);
    expect(blocksOf(text).join("\n")).toBe(text);
  });

  test("lists, quotes, tables and indented lines stay with what is before", () => {
    for (const text of [
      "1. one\n\n2. two",
      "- a\n\n  more\n\n- b",
      "> a\n\n> b",
      "a\n\n| x |\n| - |",
      "a\n\n    code",
    ]) {
      expect(blocksOf(text)).toHaveLength(1);
    }
  });

  test("an unclosed fence keeps all that follows", () => {
    expect(blocksOf("```\na\n\nb\n\nc")).toHaveLength(1);
  });
});

describe("links", () => {
  test("only http, https and mailto can be followed", () => {
    expect(safeHost("https://example.com/path?q=1")).toBe("example.com");
    expect(safeHost("mailto:a@example.com")).toBe("a@example.com");
    for (const address of [
      "javascript:alert(1)",
      "data:text/html,x",
      "/local",
      "vbscript:x",
      "file:///etc",
      "",
    ]) {
      expect(safeHost(address)).toBeNull();
    }
  });

  test("a text that only contains the host does not hide it", () => {
    expect(namesHost("example.com", "example.com")).toBe(true);
    expect(namesHost("https://example.com/a", "example.com")).toBe(true);
    expect(namesHost("https://bank.example/?next=evil.example", "evil.example")).toBe(false);
  });
});
