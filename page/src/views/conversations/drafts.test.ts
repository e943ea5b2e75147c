import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { sendKeyed } from "../../api/keyed";
import { Unreachable } from "../../api/problem";
import {
  addTyped,
  draftOf,
  forgetDrafts,
  moveTyped,
  sendDraft,
  setReceiver,
  setTyped,
  showField,
} from "./drafts";

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
    key: (index: number) => [...stored.keys()][index] ?? null,
    get length() {
      return stored.size;
    },
  });
});

afterEach(() => vi.unstubAllGlobals());

test("the field is empty while its text is on its way, and keeps what is typed meanwhile", async () => {
  const { send, resolve } = held();
  setTyped("a", "first ");
  const sent = sendDraft("a", send);
  expect(send).toHaveBeenCalledWith("first");
  expect(draftOf("a")).toMatchObject({ typed: "", sending: "first " });
  setTyped("a", "first again");
  resolve();
  await sent;
  expect(draftOf("a")).toMatchObject({ typed: "first again", sending: "" });
});

test("a refused text comes back before what was typed meanwhile", async () => {
  const { send, reject } = held();
  setTyped("b", "first");
  const sent = sendDraft("b", send);
  setTyped("b", "second");
  reject(new Error("refused"));
  await expect(sent).rejects.toThrow("refused");
  expect(draftOf("b")).toMatchObject({ typed: "first\n\nsecond", sending: "" });
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

test("a draft of another tab is shown after the field of this tab has gone", async () => {
  const { send, reject } = held();
  const hide = showField("e");
  setTyped("e", "first");
  const sent = sendDraft("e", send);
  hide();
  reject(new Error("refused"));
  await expect(sent).rejects.toThrow("refused");
  // Nothing is lost, although the field had gone before the refusal.
  expect(draftOf("e").typed).toBe("first");
  addTyped("e", "second");
  expect(stored.get("matins.draft.e")).toBe("first\n\nsecond");
  stored.set("matins.draft.e", "of another tab");
  expect(draftOf("e").typed).toBe("of another tab");
});

test("a draft that another tab writes while this tab sends is kept", async () => {
  const { send, resolve } = held();
  const hide = showField("h");
  setTyped("h", "first");
  const sent = sendDraft("h", send);
  stored.set("matins.draft.h", "of another tab");
  resolve();
  await sent;
  expect(stored.get("matins.draft.h")).toBe("of another tab");
  expect(draftOf("h")).toMatchObject({ typed: "of another tab", sending: "" });
  const second = held();
  const more = sendDraft("h", second.send);
  setTyped("h", "typed here");
  stored.set("matins.draft.h", "of another tab again");
  second.resolve();
  await more;
  expect(stored.get("matins.draft.h")).toBe("of another tab again\n\ntyped here");
  hide();
});

test("a text that is not sent loses no draft of another tab", async () => {
  const { send, reject } = held();
  setTyped("i", "first");
  const sent = sendDraft("i", send);
  stored.set("matins.draft.i", "first and more");
  reject(new Error("refused"));
  await expect(sent).rejects.toThrow("refused");
  expect(stored.get("matins.draft.i")).toBe("first and more");
  const second = held();
  const again = sendDraft("i", second.send);
  stored.set("matins.draft.i", "another");
  second.reject(new Error("refused"));
  await expect(again).rejects.toThrow("refused");
  expect(stored.get("matins.draft.i")).toBe("another\n\nfirst and more");
});

test.each([
  ["ok", "look at this"],
  ["ok", "okay, go on"],
  ["go", "then go"],
  ["first", "firsté"],
])("the text %j that is not sent is kept beside the draft %j of another tab", async (text, other) => {
  const { send, reject } = held();
  setTyped("n", text);
  const sent = sendDraft("n", send);
  stored.set("matins.draft.n", other);
  reject(new Error("refused"));
  await expect(sent).rejects.toThrow("refused");
  expect(stored.get("matins.draft.n")).toBe(`${other}\n\n${text}`);
});

test.each(["ok", " ok\n", "ok, go on"])(
  "the draft %j of another tab has the text that is not sent",
  async (other) => {
    const { send, reject } = held();
    setTyped("o", "ok");
    const sent = sendDraft("o", send);
    stored.set("matins.draft.o", other);
    reject(new Error("refused"));
    await expect(sent).rejects.toThrow("refused");
    expect(draftOf("o").typed).toBe(other);
  },
);

test("a text that is sent again keeps its key, and one that is typed again gets another", async () => {
  const keys: string[] = [];
  const lose = () =>
    sendDraft("j", (text) =>
      sendKeyed("j", { text }, async (key) => {
        keys.push(key);
        throw new Unreachable();
      }),
    ).catch(() => undefined);
  const hide = showField("j");
  setTyped("j", "go on");
  await lose();
  hide();
  showField("j");
  await lose();
  setTyped("j", "");
  setTyped("j", "go on");
  await lose();
  expect(keys[1]).toBe(keys[0]);
  expect(keys[2]).not.toBe(keys[0]);
});

test("a text that moves to another draft leaves the key of a request of another tab", async () => {
  const lose = async () => {
    let used = "";
    await sendKeyed("l", "of another tab", async (key) => {
      used = key;
      throw new Unreachable();
    }).catch(() => undefined);
    return used;
  };
  const first = await lose();
  setTyped("l", "next");
  moveTyped("l", "m");
  expect(draftOf("l").typed).toBe("");
  expect(draftOf("m").typed).toBe("next");
  expect(await lose()).toBe(first);
});

test("a text that the storage has not taken is none of another tab", async () => {
  const { send, resolve } = held();
  const hide = showField("k");
  setTyped("k", "first");
  vi.stubGlobal("localStorage", {
    ...localStorage,
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: () => {
      throw new DOMException("full", "QuotaExceededError");
    },
  });
  setTyped("k", "first and more");
  const sent = sendDraft("k", send);
  setTyped("k", "second");
  resolve();
  await sent;
  expect(draftOf("k").typed).toBe("second");
  hide();
});

test("a stored draft of one session says nothing about an unstored one of another session", async () => {
  const { send, resolve } = held();
  const hide = showField("p");
  setTyped("p", "first");
  const sent = sendDraft("p", send);
  vi.stubGlobal("localStorage", {
    ...localStorage,
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => {
      if (key === "matins.draft.p") throw new DOMException("full", "QuotaExceededError");
      stored.set(key, value);
    },
    removeItem: (key: string) => stored.delete(key),
  });
  setTyped("p", "second");
  setTyped("q", "short");
  resolve();
  await sent;
  expect(draftOf("p").typed).toBe("second");
  hide();
});

test("without storage a text that is added before its field is shown is kept", () => {
  vi.stubGlobal("localStorage", undefined);
  addTyped("f", "first");
  const hide = showField("f");
  expect(draftOf("f").typed).toBe("first");
  hide();
});

test("a sign-out deletes every draft with its key and nothing else", async () => {
  stored.clear();
  setTyped("g", "first");
  await sendKeyed("g", "first", () => Promise.reject(new Unreachable())).catch(() => undefined);
  expect(stored.get("matins.keys")).toContain("first");
  stored.set("matins.draft.new", "second");
  stored.set("matins.goal.new", "{}");
  stored.set("matins.automation.nightly", "{}");
  stored.set("matins.theme", "dark");
  forgetDrafts();
  expect([...stored.keys()]).toEqual(["matins.theme"]);
  expect(draftOf("g").typed).toBe("");
});

test("a request that ends after a sign-out brings no text back", async () => {
  stored.clear();
  const refused = held();
  const taken = held();
  setTyped("r", "first");
  setTyped("s", "first");
  const failing = sendDraft("r", refused.send);
  const succeeding = sendDraft("s", taken.send);
  forgetDrafts();
  // The next person has begun a text of the same session in another tab.
  stored.set("matins.draft.s", "second");
  refused.reject(new Error("aborted"));
  taken.resolve();
  await expect(failing).rejects.toThrow("aborted");
  await succeeding;
  expect([...stored]).toEqual([["matins.draft.s", "second"]]);
  expect(draftOf("r").typed).toBe("");
});

test("a draft keeps its receiver until it is sent", async () => {
  let hide = showField("t");
  setReceiver("t", "worker-2");
  setTyped("t", "first");
  hide();
  hide = showField("t");
  expect(draftOf("t")).toMatchObject({ typed: "first", to: "worker-2" });
  const { send, resolve } = held();
  const sent = sendDraft("t", send);
  resolve();
  await sent;
  expect(draftOf("t").to).toBe("worker-2");
  expect([...stored.keys()].filter((key) => key.startsWith("matins.draft.t"))).toEqual([]);
  hide();
  expect(draftOf("t").to).toBeNull();
});

test("a text that is not sent comes back with its receiver", async () => {
  const hide = showField("u");
  setReceiver("u", "worker-2");
  setTyped("u", "first");
  const { send, reject } = held();
  const sent = sendDraft("u", send);
  setReceiver("u", "judge");
  reject(new Error("refused"));
  await expect(sent).rejects.toThrow("refused");
  expect(draftOf("u")).toMatchObject({ typed: "first", to: "worker-2" });
  hide();
});

test("a draft of another tab keeps the receiver of that tab", async () => {
  setReceiver("v", "worker-2");
  setTyped("v", "first");
  const { send, resolve } = held();
  const sent = sendDraft("v", send);
  stored.set("matins.draft.v", "other");
  stored.set("matins.draft.v.to", "judge");
  resolve();
  await sent;
  expect(draftOf("v")).toMatchObject({ typed: "other", to: "judge" });
});
