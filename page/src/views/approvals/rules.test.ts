import { expect, test } from "vitest";
import { ruleFor, ruleText } from "./rules";

const execute = { tool_kind: "execute", title: "Push the branch" };

test("a plain command becomes a rule for exactly this command", () => {
  const rule = ruleFor(execute, { command: "git  push origin main" });
  expect(rule).toEqual({ tool: "execute", title: "git push origin main", verdict: "allow" });
  expect(rule && ruleText(rule)).toBe("execute:git push origin main");
});

test("no rule is proposed for what a pattern could widen or the server never matches", () => {
  for (const command of [
    "git log *",
    "a; b",
    "echo $HOME",
    'sh -c "x"',
    "A=1 git log",
    "",
    "a\nb",
    ["git", "log"],
    7,
  ]) {
    expect(ruleFor(execute, { command })).toBeNull();
  }
  expect(ruleFor(execute, null)).toBeNull();
  expect(ruleFor({ tool_kind: "edit", title: "notes*.md" }, { path: "notes.md" })).toBeNull();
});

test("a command under another kind counts as a command", () => {
  expect(ruleFor({ tool_kind: "other", title: "Anything" }, { cmd: "rm -r x; y" })).toBeNull();
});

test("another request is allowed by its title", () => {
  const rule = ruleFor({ tool_kind: "edit", title: "Edit notes.md" }, { path: "notes.md" });
  expect(rule).toEqual({ tool: "edit", title: "Edit notes.md", verdict: "allow" });
});
