import { expect, test } from "vitest";
import type { Question, SeatMessage } from "../../api/types";
import { merge, type Part } from "./questions";

const at = (minute: number) => `2026-11-29T07:${String(minute).padStart(2, "0")}:00Z`;

/** Returns a part of a list with items at these minutes, the newest first. */
function part<T>(minutes: number[], more: { hasOlder?: boolean; hasNewer?: boolean } = {}): Part<T> {
  const items = minutes.map((minute) => ({ id: String(minute), created_at: at(minute) }) as T);
  return { items, hasOlder: false, hasNewer: false, ...more };
}

type Minutes = Parameters<typeof part>;

/** Merges lists with items at these minutes. Returns the entries, such as `m8` and `q7`. */
function merged(messages: Minutes, questions: Minutes) {
  const { entries, ...rest } = merge(part<SeatMessage>(...messages), part<Question>(...questions));
  const names = entries.map(({ message, question }) => (message ? `m${message.id}` : `q${question.id}`));
  return { names: names.join(" "), ...rest };
}

test("messages_and_questions_come_by_time_the_newest_first", () => {
  const { names, isWhole } = merged([[12, 10, 5]], [[11, 8, 4]]);
  expect(names).toBe("m12 q11 m10 q8 m5 q4");
  expect(isWhole).toBe(true);
  expect(merged([[]], [[8]]).names).toBe("q8");
  expect(merged([[8]], [[]]).names).toBe("m8");
});

test("questions_before_the_oldest_message_wait_for_older_messages", () => {
  const { names, isWhole, next } = merged([[12, 10], { hasOlder: true }], [[11, 8, 4]]);
  expect(names).toBe("m12 q11 m10");
  expect(isWhole).toBe(false);
  expect(next).toBe("messages");
});

test("messages_before_the_oldest_question_wait_for_older_questions", () => {
  const { names, next } = merged([[12, 10, 2]], [[11, 8], { hasOlder: true }]);
  expect(names).toBe("m12 q11 m10 q8");
  expect(next).toBe("questions");
});

test("list_that_reaches_less_far_back_goes_on_first", () => {
  const older = { hasOlder: true };
  expect(merged([[12, 3], older], [[11, 8], older])).toMatchObject({
    names: "m12 q11 q8",
    next: "questions",
  });
  expect(merged([[12, 9], older], [[11, 8], older])).toMatchObject({ names: "m12 q11 m9", next: "messages" });
});

test("questions_after_a_window_of_older_messages_are_left_out", () => {
  const { names, isWhole } = merged([[8, 6], { hasNewer: true }], [[11, 7, 4]]);
  expect(names).toBe("m8 q7 m6 q4");
  expect(isWhole).toBe(false);
});

test("messages_keep_the_order_of_the_server", () => {
  // The clocks of two servers differ a little.
  expect(merged([[9, 10, 5]], [[7]]).names).toBe("m9 m10 q7 m5");
});
