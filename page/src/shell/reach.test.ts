import { QueryObserver } from "@tanstack/react-query";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { get } from "../api/client";
import { queryClient } from "../api/queries";
import { onReachChange, requestsFailSince } from "./reach";

/** The module under test keeps its state, so each test begins long after the failures of the one before. */
let now = Date.now();
let isDown: boolean;
/** The paths of the requests that fail although the server answers the others. */
const broken = new Set<string>();
let paths: string[];
const answers = new Map<string, number>();

beforeEach(() => {
  now += 3_600_000;
  vi.useFakeTimers({ now });
  isDown = false;
  broken.clear();
  paths = [];
  answers.clear();
  queryClient.clear();
  vi.stubGlobal("fetch", (path: string) => {
    paths.push(path);
    if (isDown || broken.has(path)) return Promise.reject(new TypeError("Failed to fetch"));
    return Promise.resolve(new Response("{}", { status: answers.get(path) ?? 200 }));
  });
});

afterEach(async () => {
  // No timer of the module outlasts its test.
  isDown = false;
  broken.clear();
  await vi.advanceTimersByTimeAsync(20_000);
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** Observes a query, as a view does. */
function show(path: string): () => void {
  const observer = new QueryObserver(queryClient, { queryKey: [path], queryFn: () => get(path) });
  return observer.subscribe(() => undefined);
}

describe("reach", () => {
  it("one_failed_request_is_forgotten_without_another_request", async () => {
    const changes: (number | null)[] = [];
    const end = onReachChange(() => changes.push(requestsFailSince()));
    isDown = true;
    await expect(get("/runs/1/text")).rejects.toThrow("cannot be reached");
    expect(requestsFailSince()).not.toBeNull();
    isDown = false;
    await vi.advanceTimersByTimeAsync(500);
    expect(requestsFailSince()).toBeNull();
    expect(changes).toHaveLength(2);
    end();
  });

  it("probes_grow_rare_while_the_server_is_away_and_end_with_its_return", async () => {
    isDown = true;
    await get("/server").catch(() => undefined);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(requestsFailSince()).not.toBeNull();
    expect(paths.length).toBeGreaterThan(5);
    expect(paths.length).toBeLessThan(20);
    isDown = false;
    await vi.advanceTimersByTimeAsync(15_000);
    expect(requestsFailSince()).toBeNull();
    const sent = paths.length;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(paths).toHaveLength(sent);
  });

  it("view_that_could_not_be_read_is_read_after_the_return", async () => {
    isDown = true;
    const hide = show("/overview");
    await vi.advanceTimersByTimeAsync(10_000);
    expect(queryClient.getQueryState(["/overview"])?.status).toBe("error");
    isDown = false;
    await vi.advanceTimersByTimeAsync(15_000);
    expect(queryClient.getQueryState(["/overview"])?.status).toBe("success");
    hide();
  });

  it("refused_view_is_not_read_again", async () => {
    answers.set("/api/v1/tokens", 403);
    const hide = show("/tokens");
    await vi.advanceTimersByTimeAsync(100);
    isDown = true;
    await get("/server").catch(() => undefined);
    isDown = false;
    await vi.advanceTimersByTimeAsync(15_000);
    expect(paths.filter((path) => path === "/api/v1/tokens")).toHaveLength(1);
    hide();
  });

  it("failing_address_is_requested_rarely_while_others_answer", async () => {
    const hide = show("/overview");
    await vi.advanceTimersByTimeAsync(100);
    // `/overview` has data before its refetches fail, and `/runs` has none.
    broken.add("/api/v1/overview").add("/api/v1/runs");
    answers.set("/api/v1/timeline", 503);
    const others = [show("/runs"), show("/timeline")];
    void queryClient.invalidateQueries();
    await vi.advanceTimersByTimeAsync(60_000);
    paths = [];
    await vi.advanceTimersByTimeAsync(60_000);
    // A round is three attempts, and a probe after each. The rounds are at least 7.5 seconds apart.
    for (const path of broken) expect(paths.filter((each) => each === path).length).toBeLessThan(30);
    expect(paths.length).toBeGreaterThan(10);
    expect(paths.length).toBeLessThan(100);
    // The failures of one address do not count as a lost connection.
    await vi.advanceTimersByTimeAsync(1_000);
    const failedAt = requestsFailSince();
    expect(Date.now() - (failedAt ?? Date.now())).toBeLessThan(1_000);
    for (const end of [hide, ...others]) end();
  });
});
