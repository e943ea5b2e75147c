import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { followText, type TextPiece } from "./live-text";

const TEXT = "Version 0.2 is out. It mends the sign-in.";
const INTERVAL_MS = 1_000;

/** The requests that wait for a response of the test. */
let waiting: { from: number; answer: (piece: TextPiece) => void; fail: () => void }[];
let shown: string[];

const read = (from: number) =>
  new Promise<TextPiece>((answer, fail) => {
    waiting.push({ from, answer, fail });
  });
const begin = () => followText(read, (text) => shown.push(text), INTERVAL_MS);

/** Answers the oldest request with the text up to a position. */
function answer(end: number): void {
  const request = waiting.shift();
  request?.answer({ text: TEXT.slice(request.from, end), end: Math.max(request.from, end) });
}

beforeEach(() => {
  vi.useFakeTimers();
  waiting = [];
  shown = [];
});
afterEach(() => vi.useRealTimers());

describe("followText", () => {
  it("slow_responses_double_no_text", async () => {
    const stop = begin();
    await vi.advanceTimersByTimeAsync(5 * INTERVAL_MS);
    expect(waiting).toHaveLength(1);
    answer(10);
    await vi.advanceTimersByTimeAsync(5 * INTERVAL_MS);
    expect(waiting.map(({ from }) => from)).toEqual([10]);
    answer(20);
    await vi.advanceTimersByTimeAsync(0);
    expect(shown).toEqual([TEXT.slice(0, 10), TEXT.slice(0, 20)]);
    stop();
  });

  it("failed_read_is_tried_again_from_the_same_position", async () => {
    const stop = begin();
    answer(10);
    await vi.advanceTimersByTimeAsync(INTERVAL_MS);
    waiting.shift()?.fail();
    await vi.advanceTimersByTimeAsync(INTERVAL_MS);
    answer(20);
    await vi.advanceTimersByTimeAsync(0);
    expect(shown.at(-1)).toBe(TEXT.slice(0, 20));
    stop();
  });

  it("response_after_the_stop_is_ignored", async () => {
    const stop = begin();
    stop();
    answer(10);
    await vi.advanceTimersByTimeAsync(10 * INTERVAL_MS);
    expect(shown).toEqual([]);
    expect(waiting).toEqual([]);
  });
});
