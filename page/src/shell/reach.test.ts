import { QueryObserver } from "@tanstack/react-query";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { get } from "../api/client";
import { queryClient } from "../api/queries";
import { onReachChange, requestsFailSince } from "./reach";

let isDown: boolean;
let paths: string[];
const answers = new Map<string, number>();

beforeEach(() => {
  vi.useFakeTimers();
  isDown = false;
  paths = [];
  answers.clear();
  queryClient.clear();
  vi.stubGlobal("fetch", (path: string) => {
    paths.push(path);
    if (isDown) return Promise.reject(new TypeError("Failed to fetch"));
    return Promise.resolve(new Response("{}", { status: answers.get(path) ?? 200 }));
  });
});

afterEach(() => {
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
});
