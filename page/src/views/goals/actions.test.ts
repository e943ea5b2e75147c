import { beforeEach, expect, test, vi } from "vitest";
import type { Goal } from "../../api/types";
import { moveGoal } from "./actions";

const post = vi.hoisted(() => vi.fn());
vi.mock("../../api/client", () => ({ post }));

const goalIn = (state: Goal["state"]) => ({ id: "ses_1", state, goal: "Tea", title: "" }) as Goal;

beforeEach(() => post.mockReset());

test("a move is sent once until the page has read its result", async () => {
  const seen = goalIn("draft");
  let answer = (_goal: Goal) => {};
  post.mockReturnValueOnce(new Promise((done) => (answer = done)));
  const first = moveGoal(seen, "start");
  // An event has brought other figures meanwhile.
  await moveGoal(goalIn("draft"), "start");
  expect(post).toHaveBeenCalledTimes(1);
  answer(goalIn("active"));
  await first;
  await moveGoal(seen, "start");
  expect(post).toHaveBeenCalledTimes(1);
  post.mockResolvedValueOnce(goalIn("paused"));
  await moveGoal(goalIn("active"), "pause");
  expect(post).toHaveBeenCalledTimes(2);
});

test("a move that is refused or changes nothing can be repeated", async () => {
  const seen = goalIn("paused");
  post.mockRejectedValueOnce(new Error("no connection"));
  post.mockResolvedValue(goalIn("paused"));
  for (let count = 1; count <= 3; count += 1) {
    await moveGoal(seen, "resume");
    expect(post).toHaveBeenCalledTimes(count);
  }
});
