import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { addTyped, draftOf, sendDraft, setTyped } from "./drafts";

/** A request whose answer the test gives. */
function held() {
  let resolve = () => {};
  let reject = (_error: Error) => {};
  const answer = new Promise<void>((done, failed) => {
    resolve = done;
    reject = failed;
  });
  return { send: vi.fn((_text: string) => answer), resolve, reject };
}

const stored = new Map<string, string>();

beforeEach(() => {
  vi.stubGlobal("localStorage", {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => stored.set(key, value),
    removeItem: (key: string) => stored.delete(key),
  });
});

afterEach(() => vi.unstubAllGlobals());

test("the field is empty while its text is on its way, and keeps what is typed meanwhile", async () => {
  const { send, resolve } = held();
  setTyped("a", "first ");
  const sent = sendDraft("a", send);
  expect(send).toHaveBeenCalledWith("first");
  expect(draftOf("a")).toEqual({ typed: "", sending: "first " });
  setTyped("a", "first again");
  resolve();
  await sent;
  expect(draftOf("a")).toEqual({ typed: "first again", sending: "" });
});

test("a refused text comes back before what was typed meanwhile", async () => {
  const { send, reject } = held();
  setTyped("b", "first");
  const sent = sendDraft("b", send);
  setTyped("b", "second");
  reject(new Error("refused"));
  await expect(sent).rejects.toThrow("refused");
  expect(draftOf("b")).toEqual({ typed: "first\n\nsecond", sending: "" });
});

test("a text is sent once, and an empty one never", async () => {
  const { send, resolve } = held();
  setTyped("c", " \n");
  await sendDraft("c", send);
  expect(send).not.toHaveBeenCalled();
  setTyped("c", "first");
  const sent = sendDraft("c", send);
  setTyped("c", "second");
  await sendDraft("c", send);
  expect(send).toHaveBeenCalledTimes(1);
  resolve();
  await sent;
  expect(draftOf("c").typed).toBe("second");
});

test("the storage has the text on its way until the answer", async () => {
  const { send, resolve } = held();
  setTyped("d", "first");
  const sent = sendDraft("d", send);
  expect(stored.get("matins.draft.d")).toBe("first");
  addTyped("d", "second");
  expect(stored.get("matins.draft.d")).toBe("first\n\nsecond");
  resolve();
  await sent;
  expect(stored.get("matins.draft.d")).toBe("second");
  setTyped("d", "");
  expect(stored.has("matins.draft.d")).toBe(false);
});
