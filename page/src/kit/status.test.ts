import { expect, test } from "vitest";
import type { RunItem, RunStatus } from "../api/types";
import { fileTitle, type Look, lookOfListedRun, lookOfRun, waitsAsFile } from "./Status";

test.each<[RunStatus, string | null | undefined, Look]>([
  ["delivered", "trigger-file", "delivered"],
  ["delivered", "laptop-1-aaaaaaaa", "queued"],
  // Outcomes tell no worker. Only a file stays delivered for long.
  ["delivered", undefined, "delivered"],
  ["deferred", null, "queued"],
  ["running", "trigger-file", "running"],
])("look_of_%s_run_of_worker_%s", (status, worker_id, look) => {
  expect(lookOfRun({ status, ...(worker_id === undefined ? {} : { worker_id }) })).toBe(look);
});

test("listed_run_waits_for_a_person_or_as_a_file", () => {
  const run = { status: "running", waits_for_approval: true, worker_id: "laptop-1" } as RunItem;
  expect(lookOfListedRun(run)).toBe("waits");
  expect(waitsAsFile(run)).toBe(false);
  const file: RunItem = { ...run, status: "delivered", waits_for_approval: false, worker_id: "trigger-file" };
  expect(lookOfListedRun(file)).toBe("delivered");
  expect(waitsAsFile(file)).toBe(true);
});

test("title_of_a_file_names_its_instance_if_it_is_known", () => {
  expect(fileTitle("laptop")).toBe("Its file waits at laptop until a runtime takes it.");
  expect(fileTitle(null)).toBe("Its file waits in a folder until a runtime takes it.");
});
