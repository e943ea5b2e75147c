import { expect, test } from "vitest";
import type { BlockedOn, RunDelivery, RunItem } from "../../api/types";
import { dayAndTime, longTime } from "../../kit/format";
import { blockedText, canRetry, deliveryText, goalOf } from "./words";

const AT = "2026-11-19T08:00:00Z";
const laptop = { instance: "ins_1", name: "laptop" };

test.each<[BlockedOn, string]>([
  [{ for: "delivery", ...laptop, reason: null, until: null }, "Until its file is in the folder of laptop."],
  [
    { for: "delivery", ...laptop, reason: "the folder is full", until: AT },
    `Its file cannot be written into the folder of laptop. The folder is full. The next attempt is at ${dayAndTime(AT)}.`,
  ],
  [
    { for: "runtime", ...laptop, online: false, delivered_at: AT },
    `Delivered to laptop at ${dayAndTime(AT)}, not begun. No runtime watches the folder now.`,
  ],
  [
    { for: "runtime", ...laptop, online: true, delivered_at: AT },
    `Delivered to laptop at ${dayAndTime(AT)}, not begun. Its runtime takes it in its turn.`,
  ],
  [
    { for: "instance", instance: "ins_1", name: "lap\u202etop" },
    "Until a server serves the instance lap\\u{202e}top again.",
  ],
])("text_of_wait_for_%j", (blocked, text) => {
  expect(blockedText(blocked)).toBe(text);
});

test("delivery_names_each_further_write", () => {
  const delivery = {
    instance: "ins_1",
    file: "x.json",
    delivered_at: AT,
    writes: 1,
    failures: 0,
    error: null,
  };
  expect(deliveryText({ ...delivery, delivered_at: null, writes: 0 } as RunDelivery)).toBeNull();
  expect(deliveryText(delivery)).toBe(longTime(AT));
  expect(deliveryText({ ...delivery, writes: 3 })).toBe(`${longTime(AT)}, written 3 times`);
});

test.each<[RunItem["source"], RunItem["status"], string | null, boolean]>([
  ["task", "failed", "ses_1", false],
  ["task", "running", "ses_1", false],
  ["message", "failed", null, true],
  ["person", "cancelled", null, true],
  ["schedule", "stalled", null, true],
  ["schedule", "missed", null, false],
  ["person", "succeeded", null, false],
])("run_from_%s_that_is_%s_has_goal_%s_and_retry_%s", (source, status, goal, retried) => {
  const run = { source, status, session_id: "ses_1" };
  expect(goalOf(run)).toBe(goal);
  expect(canRetry(run)).toBe(retried);
});
