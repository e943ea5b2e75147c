import { expect, test } from "vitest";
import type { Instance } from "../../api/types";
import { lossText, runtimeCommand, saveCommand, shellWord, waitText } from "./instance-words";

const instance = (more: Partial<Instance>) =>
  ({ state: "offline", waiting_runs: 0, automations_too_new: 0, ...more }) as Instance;

test.each([
  [{}, ""],
  [{ waiting_runs: 1 }, "1 run waits until a server serves it again."],
  [{ waiting_runs: 2 }, "2 runs wait until a server serves it again."],
  [{ waiting_runs: 2, state: "online" as const }, "2 runs wait for their turns there."],
  [
    { waiting_runs: 1, automations_too_new: 2 },
    "1 run waits until a server serves it again. 2 automations need a later version.",
  ],
  [{ waiting_runs: 1, kind: "directory" as const }, "1 run waits until a runtime watches its folder again."],
  [
    { waiting_runs: 1, delivered_runs: 1, kind: "directory" as const },
    "1 run waits until a runtime watches its folder again, delivered as a file.",
  ],
  [
    { waiting_runs: 3, delivered_runs: 2, kind: "directory" as const, state: "online" as const },
    "3 runs wait for their turns there, 2 of them delivered as files.",
  ],
])("wait_text_of_%j", (more, text) => {
  expect(waitText(instance(more))).toBe(text);
});

test("removal_names_failing_runs", () => {
  const lost = "The memories of agents in its data folder count as lost";
  expect(lossText(instance({}))).toBe(`${lost}. Transcripts stay.`);
  expect(lossText(instance({ waiting_runs: 1 }))).toBe(`${lost}, and 1 waiting run fails. Transcripts stay.`);
  expect(lossText(instance({ waiting_runs: 3 }))).toBe(`${lost}, and 3 waiting runs fail. Transcripts stay.`);
});

test.each([
  ["/srv/agent", "/srv/agent"],
  ["", "''"],
  ["two words", "'two words'"],
  ["it's", `'it'\\''s'`],
  ["$(reboot)", "'$(reboot)'"],
])("shell_reads_%j_back", (word, quoted) => {
  expect(shellWord(word)).toBe(quoted);
});

const folder = (more: Partial<Instance>) =>
  instance({ kind: "directory", name: "elsewhere", folder: "/srv/a", runtime_folder: null, ...more });

test.each<[Partial<Instance>, string, string]>([
  [
    {},
    "http://127.0.0.1:7347",
    "matins runtime --folder /srv/a --server http://127.0.0.1:7347 --token-file elsewhere.token",
  ],
  [
    { runtime_folder: "/mnt/my agents" },
    "https://matins.example.org",
    "matins runtime --folder '/mnt/my agents' --server https://matins.example.org --token-file elsewhere.token",
  ],
  [
    { name: "../up" },
    "http://matins.example.org",
    "matins runtime --folder /srv/a --server http://matins.example.org --token-file runtime.token --allow-http",
  ],
])("runtime_command_of_%j_at_%s", (more, server, command) => {
  expect(runtimeCommand(folder(more), server)).toBe(command);
});

test("token_is_saved_for_its_owner_alone", () => {
  expect(saveCommand(folder({ name: "my laptop" }))).toBe("(umask 077; cat > 'my laptop.token')");
});
