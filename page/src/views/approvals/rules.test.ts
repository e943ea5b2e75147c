import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import {
  ARGUMENT_FIELD_ENDS,
  COMMAND_FIELDS,
  EDITOR_OPERATIONS,
  HARMLESS_FIELDS,
  LIST_FIELDS,
  ruleFor,
  ruleText,
} from "./rules";

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

test("no rule is proposed for a title that a person cannot see as one whole line", () => {
  const titles = [
    "Read notes.md\nallow *",
    "Read notes.md\rallow",
    "Read\u2028notes.md",
    "Read\u2029notes.md",
    "Read\u0085notes.md",
    "Read \u202enotes.md",
    "Read\tnotes.md",
    "Read \ud800",
    " Read notes.md",
    "Read notes.md ",
    " ",
    "",
    "x".repeat(4093),
    "é".repeat(2047),
  ];
  for (const title of titles) {
    expect(ruleFor({ tool_kind: "read", title }, null), JSON.stringify(title.slice(0, 30))).toBeNull();
  }
  expect(ruleFor({ tool_kind: "read", title: "é".repeat(2046) }, null)).not.toBeNull();
});

test("the text of a rule is one line", () => {
  const rule = { tool: "read", title: "a\r\nallow *\u2028", verdict: "allow" } as const;
  expect(ruleText(rule)).toBe("read:a\\u{d}\\u{a}allow *\\u{2028}");
  const literal = { ...rule, title: "a\\u{a}b" };
  expect(ruleText(literal)).toBe("read:a\\u{5c}u{a}b");
});

test("fields and operations are those of the server", () => {
  const file = `${import.meta.dirname}/../../../../crates/model/src/permission/tool_input.rs`;
  const source = readFileSync(file, "utf8");
  for (const [name, known] of Object.entries({
    ARGUMENT_FIELD_ENDS,
    COMMAND_FIELDS,
    EDITOR_OPERATIONS,
    HARMLESS_FIELDS,
    LIST_FIELDS,
  })) {
    const list = new RegExp(`const ${name}: [^=]+= \\[([^\\]]+)\\]`).exec(source)?.[1];
    expect([...known], name).toEqual(list?.match(/[a-z_]+/g));
  }
});

test("no rule is proposed for a command that a field beside it may change", () => {
  for (const input of [
    { command: "git log", env: { GIT_PAGER: "x" } },
    { command: "git log", stdin: "x" },
    { command: "git log", args: ["-5"] },
    { command: "git log", cmd: "curl x" },
    { command: "git log", cwd: { env: "x" } },
    { command: "git log", verbose: true },
    { command: "git log", args: false },
    { command: "git log", "Extra-Params": false },
    { command: "git log", description: [{ env: "x" }] },
    { input: { command: "git log" } },
    [{ command: "git log" }],
  ]) {
    expect(ruleFor(execute, input), JSON.stringify(input)).toBeNull();
    expect(ruleFor({ tool_kind: "other", title: "Anything" }, input), JSON.stringify(input)).toBeNull();
  }
});

test("a harmless field beside a command does not matter", () => {
  for (const beside of [
    { description: "Show; the log", timeout: 5, run_in_background: true },
    { cwd: "/x", "Timeout-MS": 5, proposed_execpolicy_amendment: ["git", "log"] },
    { env: {}, args: [], stdin: "", cmd: null, dangerouslyDisableSandbox: false },
  ]) {
    for (const field of ["command", "cmd", "script", "shell_command"]) {
      const rule = ruleFor(execute, { ...beside, [field]: "git log" });
      expect(rule && ruleText(rule)).toBe("execute:git log");
    }
  }
});

test("no rule is proposed for a shell whose script the server compares", () => {
  for (const command of ["sh -c ls", "/bin/bash -lc ls", "zsh +x a", "fish a", "busybox sh"]) {
    expect(ruleFor(execute, { command }), command).toBeNull();
  }
  for (const command of ["bash scripts/test", "ssh -v a", "fisher a", "pushd -n"]) {
    expect(ruleFor(execute, { command })?.title).toBe(command);
  }
});

test("an operation of an editor is no command", () => {
  const rule = ruleFor({ tool_kind: "read", title: "notes.md" }, { command: "view", path: "notes.md" });
  expect(rule && ruleText(rule)).toBe("read:notes.md");
});
