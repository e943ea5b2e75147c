import { expect, test } from "vitest";
import type { Instance } from "../../api/types";
import { lossText, waitText } from "./Instances";

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
  expect(lossText(instance({}))).toBe(`${lost}.`);
  expect(lossText(instance({ waiting_runs: 1 }))).toBe(`${lost}, and 1 waiting run fails.`);
  expect(lossText(instance({ waiting_runs: 3 }))).toBe(`${lost}, and 3 waiting runs fail.`);
});
