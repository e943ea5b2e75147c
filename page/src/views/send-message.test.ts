import { afterEach, expect, test, vi } from "vitest";
import { sendKeyed } from "../api/keyed";
import { toast } from "../kit/Toast";
import { sendMessage } from "./send-message";

vi.mock("../kit/Toast", () => ({ toast: vi.fn() }));

afterEach(() => vi.unstubAllGlobals());

test("message_that_was_sent_before_is_named_and_can_be_sent_once_more", async () => {
  const keys: (string | null)[] = [];
  vi.stubGlobal("localStorage", undefined);
  vi.stubGlobal("fetch", async (_path: string, { headers }: RequestInit) => {
    const key = new Headers(headers).get("Idempotency-Key");
    keys.push(key);
    // The server has the first message, and its response is lost.
    if (keys.length === 1) throw new TypeError("Failed to fetch");
    const replayed = key === keys[0] ? { "Idempotency-Replayed": "true" } : undefined;
    return new Response("{}", { status: 202, ...(replayed && { headers: replayed }) });
  });
  const body = { text: "go on" };
  const send = () => sendKeyed("a", body, (key) => sendMessage("/sessions/a/messages", body, key));
  await expect(send()).rejects.toThrow("cannot be reached");
  expect(toast).not.toHaveBeenCalled();
  await send();
  expect(keys[1]).toBe(keys[0]);
  expect(toast).toHaveBeenCalledExactlyOnceWith(expect.stringContaining("was sent before"));
  await send();
  expect(keys[2]).not.toBe(keys[0]);
  expect(toast).toHaveBeenCalledOnce();
});
