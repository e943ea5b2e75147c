import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { forgetAllKeys, forgetKeys, keyedSender, sendKeyed } from "./keyed";
import { ApiProblem, Unreachable } from "./problem";

const stored = new Map<string, string>();
let isFull = false;

beforeEach(() => {
  isFull = false;
  vi.stubGlobal("localStorage", {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => {
      if (isFull) throw new DOMException("full", "QuotaExceededError");
      stored.set(key, value);
    },
    removeItem: (key: string) => stored.delete(key),
  });
  forgetAllKeys();
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** Sends a creation that ends with `end`, a status or nothing for a lost response. Returns its key. */
async function attempt(content: unknown, end: number | "lost", target = "a"): Promise<string> {
  let used = "";
  await sendKeyed(target, content, async (key) => {
    used = key;
    if (end === "lost") throw new Unreachable();
    if (end >= 400) {
      const problem = { type: "", kind: "internal", title: "", detail: "", status: end } as const;
      throw new ApiProblem(problem);
    }
  }).catch(() => undefined);
  return used;
}

test("same_content_keeps_its_key_until_it_succeeds", async () => {
  const first = await attempt({ text: "x" }, "lost");
  expect(await attempt({ text: "x" }, "lost")).toBe(first);
  expect(await attempt({ text: "x" }, 200)).toBe(first);
  expect(await attempt({ text: "x" }, 200)).not.toBe(first);
});

test("other_content_and_other_target_have_other_keys", async () => {
  const first = await attempt({ text: "x" }, "lost");
  expect(await attempt({ text: "y" }, "lost")).not.toBe(first);
  expect(await attempt({ text: "x" }, "lost", "b")).not.toBe(first);
  expect(await attempt({ text: "x" }, "lost")).toBe(first);
});

test("success_leaves_the_key_of_another_content", async () => {
  // Another tab waits for the response to `x`.
  const other = await attempt({ text: "x" }, "lost");
  await attempt({ text: "y" }, 200);
  expect(await attempt({ text: "x" }, "lost")).toBe(other);
});

test("key_ends_a_quarter_of_an_hour_after_the_last_attempt", async () => {
  vi.useFakeTimers();
  const first = await attempt("x", "lost");
  vi.advanceTimersByTime(14 * 60_000);
  expect(await attempt("x", "lost")).toBe(first);
  vi.advanceTimersByTime(14 * 60_000);
  expect(await attempt("x", "lost")).toBe(first);
  vi.advanceTimersByTime(15 * 60_000);
  expect(await attempt("x", "lost")).not.toBe(first);
  expect(JSON.parse(stored.get("matins.keys") ?? "")).toHaveLength(1);
});

test("key_of_an_earlier_page_without_a_time_is_dropped", async () => {
  stored.set("matins.keys", JSON.stringify([{ target: "a", content: '"x"', key: "old" }]));
  expect(await attempt("x", "lost")).not.toBe("old");
});

test("dialog_keeps_its_keys_until_it_is_closed_and_stores_no_content", async () => {
  const used: string[] = [];
  const lose = (dialog: ReturnType<typeof keyedSender>, content: unknown) =>
    dialog(content, async (key) => {
      used.push(key);
      throw new Unreachable();
    }).catch(() => undefined);
  const dialog = keyedSender();
  await lose(dialog, { url: "https://example.com/secret" });
  await lose(dialog, { url: "https://example.com/secret" });
  await lose(keyedSender(), { url: "https://example.com/secret" });
  expect(used[1]).toBe(used[0]);
  expect(used[2]).not.toBe(used[0]);
  expect(stored.size).toBe(0);
});

test.each([400, 403, 404, 409, 413, 422])("status_%i_ends_the_key", async (status) => {
  const first = await attempt("x", "lost");
  expect(await attempt("x", status)).toBe(first);
  expect(await attempt("x", "lost")).not.toBe(first);
});

test.each([401, 408, 425, 429, 500, 502, 503])("status_%i_keeps_the_key", async (status) => {
  const first = await attempt("x", "lost");
  expect(await attempt("x", status)).toBe(first);
  expect(await attempt("x", "lost")).toBe(first);
});

test("key_is_stored_before_the_request_is_sent", async () => {
  await sendKeyed("a", "x", async (key) => expect(stored.get("matins.keys")).toContain(key));
  expect(stored.size).toBe(0);
});

test("keys_are_bounded_in_number", async () => {
  const keys: string[] = [];
  for (let count = 0; count < 30; count += 1) keys.push(await attempt("x", "lost", `target ${count}`));
  expect(JSON.parse(stored.get("matins.keys") ?? "")).toHaveLength(20);
  expect(await attempt("x", "lost", "target 29")).toBe(keys[29]);
  expect(await attempt("x", "lost", "target 0")).not.toBe(keys[0]);
});

test("key_lasts_as_long_as_the_tab_without_space_in_the_storage", async () => {
  isFull = true;
  const first = await attempt("x", "lost");
  expect(await attempt("x", "lost")).toBe(first);
  vi.stubGlobal("localStorage", undefined);
  expect(await attempt("x", "lost")).toBe(first);
});

test("forgotten_keys_are_used_no_more", async () => {
  const first = await attempt("x", "lost");
  const other = await attempt("x", "lost", "b");
  forgetKeys("a");
  expect(await attempt("x", "lost")).not.toBe(first);
  expect(await attempt("x", "lost", "b")).toBe(other);
  forgetAllKeys();
  expect(stored.size).toBe(0);
  expect(await attempt("x", "lost", "b")).not.toBe(other);
});
