import { afterEach, expect, test, vi } from "vitest";
import { copyText } from "./clipboard";

const toast = vi.hoisted(() => vi.fn());
vi.mock("./Toast", () => ({ toast }));

afterEach(() => {
  vi.unstubAllGlobals();
  toast.mockClear();
});

test("text_is_copied_without_a_message", async () => {
  const writeText = vi.fn(async () => {});
  vi.stubGlobal("navigator", { clipboard: { writeText } });
  expect(await copyText("goal")).toBe(true);
  expect(writeText).toHaveBeenCalledWith("goal");
  expect(toast).not.toHaveBeenCalled();
});

test("missing_clipboard_is_a_message_with_the_reason", async () => {
  vi.stubGlobal("navigator", {});
  expect(await copyText("goal")).toBe(false);
  expect(toast).toHaveBeenCalledWith(expect.stringContaining("HTTPS"));
});

test("refused_copy_is_a_message", async () => {
  vi.stubGlobal("navigator", { clipboard: { writeText: () => Promise.reject(new Error("refused")) } });
  expect(await copyText("goal")).toBe(false);
  expect(toast).toHaveBeenCalledTimes(1);
});
