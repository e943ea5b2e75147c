import { expect, test } from "vitest";
import { wordsOf } from "./Agents";

test("a command line is split into words, and quotes keep them together", () => {
  expect(wordsOf("my-agent --acp")).toEqual(["my-agent", "--acp"]);
  expect(wordsOf(`  node "/srv/my agent.mjs" 'a b' `)).toEqual(["node", "/srv/my agent.mjs", "a b"]);
  expect(wordsOf("")).toEqual([]);
});
