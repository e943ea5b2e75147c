import { describe, expect, it, test } from "vitest";
import type { OpenRun } from "../../api/types";
import { placeholder, taskOfInput, turnOf, waitingOf, waitReason } from "./inputs";

const input = (id: string, status: OpenRun["status"], more: object = {}) =>
  ({ id, status, blocked_on: null, seat_id: "s1", origin: "person", ...more }) as OpenRun;

describe("turns", () => {
  const file = { blocked_on: { for: "runtime", name: "laptop" } };
  const inputs = [
    input("first", "running"),
    input("second", "delivered", { seat_id: "s2" }),
    input("third", "running", { seat_id: "s3" }),
    input("queued", "queued", { seat_id: "s4" }),
    input("deferred", "deferred"),
    input("file", "delivered", { seat_id: "s5", ...file }),
  ];

  it("turns_of_several_seats_wait_no_longer", () => {
    expect(waitingOf(inputs).map(({ id }) => id)).toEqual(["queued", "deferred", "file"]);
  });

  it("turn_is_that_of_the_seat", () => {
    expect(turnOf(inputs, "s1")?.id).toBe("first");
    expect(turnOf(inputs, "s2")?.id).toBe("second");
    expect(turnOf(inputs, "s3")?.id).toBe("third");
    expect(turnOf(inputs, "s4")).toBeUndefined();
    expect(turnOf(inputs, "s5")).toBeUndefined();
    expect(turnOf(inputs, undefined)).toBeUndefined();
  });
});

test("input_of_a_task_has_its_key_and_no_other_input_has_one", () => {
  const goal = {
    seats: [
      { id: "s1", task: "outline" },
      { id: "s2", task: null },
    ],
  };
  expect(taskOfInput(input("r", "queued", { origin: "task" }), goal)).toBe("outline");
  expect(taskOfInput(input("r", "queued", { origin: "task", seat_id: "s2" }), goal)).toBeNull();
  expect(taskOfInput(input("r", "queued", { origin: "task" }), null)).toBeNull();
  expect(taskOfInput(input("r", "queued"), goal)).toBeNull();
});

test("empty_field_speaks_of_its_receiver", () => {
  expect(placeholder({ state: "active" }, "worker-1", false, true)).toBe("Message worker-1");
  expect(placeholder({ state: "active" }, "worker-1", true, true)).toContain("read when this turn ends");
  expect(placeholder({ state: "draft" }, "worker-1", false, true)).toContain("until the goal is started");
  expect(placeholder({ state: "draft" }, "demo", false, false)).toContain("conversation is enabled");
  expect(placeholder({ state: "paused" }, "demo", true, false)).toContain("until resumed");
});

test("input_says_why_it_waits", () => {
  expect(waitReason(input("r", "queued", { blocked_on: { for: "worker" } }))).toBe("waits for a free place");
  expect(waitReason(input("r", "deferred", { blocked_on: { for: "instance", name: "laptop" } }))).toContain(
    "laptop, which is offline",
  );
  expect(waitReason(input("r", "deferred", { blocked_on: { for: "run" } }))).toBe("");
});
