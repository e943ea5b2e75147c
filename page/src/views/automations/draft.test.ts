import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { sendKeyed } from "../../api/keyed";
import { Unreachable } from "../../api/problem";
import { discardDraft, KEY_TARGET, readDraft, removeDraft, writeDraft } from "./draft";
import { EMPTY } from "./form";

const stored = new Map<string, string>();

beforeEach(() => {
  stored.clear();
  vi.stubGlobal("localStorage", {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => stored.set(key, value),
    removeItem: (key: string) => stored.delete(key),
  });
});

afterEach(() => vi.unstubAllGlobals());

/** Sends a new automation, whose response is lost. Returns its key. */
async function lose(): Promise<string> {
  let used = "";
  await sendKeyed(KEY_TARGET, EMPTY, async (key) => {
    used = key;
    throw new Unreachable();
  }).catch(() => undefined);
  return used;
}

test("automation_that_is_written_again_after_a_discard_is_a_new_one", async () => {
  writeDraft(null, { ...EMPTY, name: "nightly" });
  const first = await lose();
  expect(await lose()).toBe(first);
  discardDraft(null);
  expect(readDraft(null)).toBeNull();
  expect(await lose()).not.toBe(first);
});

test("saved_form_and_form_of_a_stored_automation_forget_no_key", async () => {
  writeDraft("nightly", EMPTY);
  const first = await lose();
  discardDraft("nightly");
  expect(readDraft("nightly")).toBeNull();
  // Another tab has added its automation.
  removeDraft(null);
  expect(await lose()).toBe(first);
});
