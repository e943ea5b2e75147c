import { describe, expect, test } from "vitest";
import type { Message } from "../../api/types";
import { asText, diffsOf, linesOf, mainField } from "./tools";
import { contextOf, usageText } from "./usage";

const tool = (metadata: unknown) => ({ metadata }) as Message;

describe("tools", () => {
  test("diffs are read from the content, wherever the server keeps it", () => {
    const diff = { type: "diff", path: "a.md", oldText: null, newText: "b\n" };
    expect(diffsOf(tool({ output: [diff] }))).toEqual([{ path: "a.md", before: "", after: "b\n" }]);
    expect(diffsOf(tool({ output: { lines: 4 }, content: [diff] }))).toHaveLength(1);
    expect(diffsOf(tool({ output: "text" }))).toEqual([]);
    expect(diffsOf(tool(null))).toEqual([]);
  });

  test("a diff has numbered lines and counts", () => {
    const { lines, added, deleted } = linesOf({
      path: "a",
      before: "one\ntwo\n",
      after: "one\nthree\nfour\n",
    });
    expect([added, deleted]).toEqual([2, 1]);
    expect(lines.map((line) => [line.kind, line.before, line.after])).toEqual([
      ["same", 1, 1],
      ["deleted", 2, null],
      ["added", null, 2],
      ["added", null, 3],
    ]);
  });

  test("the command of an input is found in several forms", () => {
    expect(mainField({ command: ["git", "push"] })).toBe("git push");
    expect(mainField({ path: "a.md", line: 3 })).toBe("a.md");
    expect(mainField({ n: 1 })).toBeNull();
    expect(asText([{ type: "content", content: { type: "text", text: "out" } }])).toBe("out");
    expect(asText({ omitted_bytes: 9 })).toBe("9 bytes, not stored");
  });
});

describe("usage", () => {
  test("what an agent does not report is named, never zero", () => {
    expect(usageText(null)).toBe("usage not reported");
    expect(usageText({ used: 1, spent: { tokens: 0, cost: {} } })).toBe("cost not reported");
    expect(usageText({ spent: { tokens: 1100, cost: { USD: 10_000 } } })).toBe("1.1k tokens · $0.01");
    expect(contextOf({ used: 82_000, size: 200_000 })).toEqual({ used: 82_000, size: 200_000 });
    expect(contextOf({ used: 1 })).toBeNull();
  });
});
