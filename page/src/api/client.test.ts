import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { apiPath, newKey, onResponse, post, request } from "./client";
import { ApiProblem, hasStatus, Unreachable } from "./problem";

let requests: { path: string; init: RequestInit }[];
let answer: () => Promise<Response>;

beforeEach(() => {
  requests = [];
  vi.stubGlobal("fetch", (path: string, init: RequestInit) => {
    requests.push({ path, init });
    return answer();
  });
});

afterEach(() => vi.unstubAllGlobals());

const json = (status: number, body: unknown, headers: Record<string, string> = {}) =>
  Promise.resolve(new Response(JSON.stringify(body), { status, headers }));

const problem = (status: number, kind: string, more: Record<string, unknown> = {}) =>
  json(status, {
    type: `/problems/${kind}`,
    kind,
    title: kind,
    detail: `detail of ${kind}`,
    status,
    ...more,
  });

describe("request", () => {
  it("creation_carries_its_idempotency_key_and_body", async () => {
    answer = () => json(202, { id: "r" });
    await post("/sessions/s/messages", { body: { text: "Dobré ráno" }, idempotencyKey: "k1" });
    const headers = new Headers(requests[0]?.init.headers);
    expect(requests[0]?.path).toBe("/api/v1/sessions/s/messages");
    expect(headers.get("Idempotency-Key")).toBe("k1");
    expect(headers.get("Content-Type")).toBe("application/json");
    expect(requests[0]?.init.body).toBe('{"text":"Dobré ráno"}');
    expect(requests[0]?.init.credentials).toBe("same-origin");
  });

  it("edit_carries_if_match_and_returns_the_new_etag", async () => {
    answer = () => json(200, { title: "b" }, { ETag: '"2"' });
    const result = await request("PATCH", "/sessions/s", { body: { title: "b" }, ifMatch: '"1"' });
    expect(new Headers(requests[0]?.init.headers).get("If-Match")).toBe('"1"');
    expect(result.etag).toBe('"2"');
  });

  it("empty_response_has_no_data", async () => {
    answer = () => Promise.resolve(new Response(null, { status: 204 }));
    expect((await request("DELETE", "/sign-in")).data).toBeUndefined();
  });

  it.each([
    [403, "forbidden"],
    [409, "refused"],
    [412, "changed"],
    [422, "invalid"],
  ])("status_%i_is_a_typed_problem", async (status, kind) => {
    answer = () => problem(status, kind, { field: "title", hint: "choose another" });
    const error = await request("GET", "/x").catch((caught: unknown) => caught);
    expect(hasStatus(error, status)).toBe(true);
    expect((error as ApiProblem).problem).toMatchObject({ kind, field: "title", hint: "choose another" });
  });

  it("refused_deletion_names_the_bound_automations", async () => {
    const automations = [{ id: "a", name: "tidy", enabled: true }];
    answer = () => problem(409, "refused", { automations });
    const error = await request("DELETE", "/sessions/s").catch((caught: unknown) => caught);
    expect((error as ApiProblem).problem.automations).toEqual(automations);
  });

  it("response_of_a_proxy_without_a_problem_document_still_is_a_problem", async () => {
    answer = () => Promise.resolve(new Response("<h1>Bad Gateway</h1>", { status: 502 }));
    const error = await request("GET", "/x").catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(ApiProblem);
    expect((error as ApiProblem).status).toBe(502);
  });

  it("listener_learns_that_the_caller_is_signed_out", async () => {
    const seen: string[] = [];
    const stop = onResponse((event) => seen.push(event));
    answer = () => problem(401, "unauthenticated");
    await request("GET", "/x").catch(() => undefined);
    stop();
    await request("GET", "/x").catch(() => undefined);
    expect(seen).toEqual(["reached", "unauthenticated"]);
  });

  it("unreachable_server_is_told_apart_from_a_refusal", async () => {
    const seen: string[] = [];
    const stop = onResponse((event) => seen.push(event));
    answer = () => Promise.reject(new TypeError("connection refused"));
    await expect(request("GET", "/x")).rejects.toBeInstanceOf(Unreachable);
    stop();
    expect(seen).toEqual(["unreachable"]);
  });

  it("read_without_a_response_in_time_counts_as_unanswered", async () => {
    vi.useFakeTimers();
    const seen: string[] = [];
    const stop = onResponse((event) => seen.push(event));
    answer = () => {
      const signal = requests.at(-1)?.init.signal;
      return new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
    };
    const caller = new AbortController();
    const left = expect(request("GET", "/x", { signal: caller.signal })).rejects.toThrow("left");
    caller.abort(new Error("left"));
    await left;
    expect(seen).toEqual([]);
    const late = expect(request("GET", "/x")).rejects.toBeInstanceOf(Unreachable);
    await vi.advanceTimersByTimeAsync(60_000);
    await late;
    stop();
    expect(seen).toEqual(["unreachable"]);
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
  });

  it.each([
    ["GET", "/sessions", 45],
    ["GET", "/automations/nightly", 45],
    ["POST", "/sessions/s/messages", 45],
    ["POST", "/automations/preview", 45],
    ["POST", "/automations/nightly/fire", 45],
    ["PATCH", "/sessions/s", 45],
    ["DELETE", "/sessions/s", 45],
    ["POST", "/sessions", 660],
    ["POST", "/agents/claude/check", 660],
    ["POST", "/automations", 660],
    ["PUT", "/automations/nightly", 660],
  ])("%s_%s_counts_as_unanswered_after_%i_seconds", async (method, path, seconds) => {
    vi.useFakeTimers();
    answer = () => {
      const signal = requests.at(-1)?.init.signal;
      return new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
    };
    const ended = vi.fn();
    const late = request(method, path).catch(ended);
    await vi.advanceTimersByTimeAsync(seconds * 1000 - 1);
    expect(ended).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    await late;
    expect(ended).toHaveBeenCalledWith(expect.any(Unreachable));
    vi.useRealTimers();
  });

  it("aborted_request_does_not_count_as_unreachable", async () => {
    const seen: string[] = [];
    const stop = onResponse((event) => seen.push(event));
    const abort = new AbortController();
    abort.abort();
    answer = () => Promise.reject(new DOMException("aborted", "AbortError"));
    await expect(request("GET", "/x", { signal: abort.signal })).rejects.toThrow("aborted");
    stop();
    expect(seen).toEqual([]);
  });
});

describe("apiPath", () => {
  it("absent_parameters_are_left_out", () => {
    expect(apiPath("/runs", { session: "a b", after: null, status: undefined, text: "", limit: 0 })).toBe(
      "/api/v1/runs?session=a+b&limit=0",
    );
  });
});

describe("newKey", () => {
  it("keys_differ_and_have_only_letters_and_digits", () => {
    expect(newKey()).toMatch(/^[0-9a-f]{32}$/);
    expect(newKey()).not.toBe(newKey());
  });
});
