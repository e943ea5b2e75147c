import { beforeEach, expect, test, vi } from "vitest";
import { forgetAllKeys } from "../api/keyed";
import { toast } from "../kit/Toast";
import { fireAutomation } from "./automation-actions";
import { retryRun } from "./run-actions";

vi.mock("../kit/Toast", () => ({ toast: vi.fn() }));

/** The keys of the requests. The server has the first one, and its response is lost. */
let sent: (string | null)[] = [];
/** The run in each response. */
let run: Record<string, string> = {};

beforeEach(() => {
  sent = [];
  run = { id: "run_1", status: "queued" };
  vi.stubGlobal("localStorage", undefined);
  forgetAllKeys();
  vi.mocked(toast).mockClear();
  vi.stubGlobal("fetch", async (_path: string, { headers }: RequestInit) => {
    const key = new Headers(headers).get("Idempotency-Key");
    sent.push(key);
    if (sent.length === 1) throw new TypeError("Failed to fetch");
    const replayed = key === sent[0] ? { "Idempotency-Replayed": "true" } : undefined;
    return Response.json(run, { status: 202, ...(replayed && { headers: replayed }) });
  });
  return () => vi.unstubAllGlobals();
});

test("fire_whose_response_is_lost_happens_once_and_the_next_click_fires_again", async () => {
  const click = () => fireAutomation({ id: "aut_1", name: "standup" });
  expect(await click()).toBeNull();
  expect(await click()).toMatchObject({ id: "run_1" });
  expect(sent[1]).toBe(sent[0]);
  expect(toast).toHaveBeenLastCalledWith(expect.stringContaining("was run before"));
  await click();
  await click();
  expect(new Set(sent).size).toBe(3);
  expect(toast).toHaveBeenLastCalledWith(expect.stringContaining("queued"));
});

test("skip_whose_response_is_lost_is_not_called_a_run", async () => {
  run = { id: "run_1", status: "skipped", reason: "overlap", message: "another run is open" };
  await fireAutomation({ id: "aut_1", name: "standup" });
  await fireAutomation({ id: "aut_1", name: "standup" });
  expect(toast).toHaveBeenLastCalledWith(
    "standup was skipped before. Another run is open. To run it again, click once more.",
  );
});

test("fires_of_two_automations_share_no_key", async () => {
  await fireAutomation({ id: "aut_1", name: "standup" });
  await fireAutomation({ id: "aut_2", name: "tidy" });
  expect(sent[1]).not.toBe(sent[0]);
});

test("retry_whose_response_is_lost_happens_once", async () => {
  expect(await retryRun("run_0", "standup")).toBeNull();
  expect(await retryRun("run_0", "standup")).toMatchObject({ id: "run_1" });
  expect(sent[1]).toBe(sent[0]);
  await retryRun("run_0", "standup");
  expect(sent[2]).not.toBe(sent[0]);
});
