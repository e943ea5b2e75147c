import { InfiniteQueryObserver, QueryObserver } from "@tanstack/react-query";
import { afterEach, beforeEach, expect, test } from "vitest";
import { PagesClient } from "./pages";

const KEY = ["runs"];
const PAGES = 3;

interface Request {
  number: number;
  signal: AbortSignal;
  answer(): void;
}

/** The change that the server has made last. Each answer has that of its request. */
let change = 0;
let requests: Request[] = [];
let client: PagesClient;
let end = () => {};

/** Requests a page by its number. The answer comes when the test gives it. */
function request(number: number, signal: AbortSignal): Promise<string> {
  const page = `${number}@${change}`;
  return new Promise((resolve, reject) => {
    requests.push({ number, signal, answer: () => resolve(page) });
    signal.addEventListener("abort", () => reject(signal.reason));
  });
}

function observe() {
  const observer = new InfiniteQueryObserver(client, {
    queryKey: KEY,
    queryFn: ({ pageParam, signal }) => request(pageParam, signal),
    initialPageParam: 1,
    getNextPageParam: (_page, _pages, number: number) => (number < PAGES ? number + 1 : null),
  });
  end = observer.subscribe(() => undefined);
  return () => observer.getCurrentResult().data?.pages;
}

/** Waits until nothing happens without another answer or event. */
const settled = () => new Promise((done) => setTimeout(done));

async function answerNext(number: number): Promise<void> {
  await settled();
  const next = requests.shift();
  expect(next?.number).toBe(number);
  expect(next?.signal.aborted).toBe(false);
  next?.answer();
  await settled();
}

function event(): Promise<void> {
  change += 1;
  return client.invalidateQueries({ queryKey: KEY });
}

beforeEach(() => {
  change = 0;
  requests = [];
  client = new PagesClient({ defaultOptions: { queries: { staleTime: 30_000, retry: false } } });
});
afterEach(() => end());

test("event_during_the_next_page_loses_neither_page_nor_change", async () => {
  const shown = observe();
  await answerNext(1);
  const click = client.readMore(KEY, "forward");
  const refetch = event();
  await answerNext(2);
  await click;
  expect(shown()).toEqual(["1@0", "2@0"]);
  await answerNext(1);
  await answerNext(2);
  await refetch;
  expect(shown()).toEqual(["1@1", "2@1"]);
  expect(requests).toEqual([]);
});

test("event_during_the_first_read_loses_neither_read_nor_change", async () => {
  const shown = observe();
  const refetches = [event(), event()];
  await answerNext(1);
  expect(shown()).toEqual(["1@0"]);
  await answerNext(1);
  await Promise.all(refetches);
  expect(shown()).toEqual(["1@2"]);
  // One refetch suffices for both events.
  expect(requests).toEqual([]);
});

test("event_during_the_first_read_of_one_object_loses_no_change", async () => {
  const observer = new QueryObserver(client, { queryKey: KEY, queryFn: ({ signal }) => request(1, signal) });
  end = observer.subscribe(() => undefined);
  void event();
  await answerNext(1);
  await answerNext(1);
  expect(observer.getCurrentResult().data).toBe("1@1");
});

test("page_asked_for_during_a_refetch_loses_neither_page_nor_change", async () => {
  const shown = observe();
  await answerNext(1);
  void event();
  await settled();
  void client.readMore(KEY, "forward");
  // Without an end to the events, the page comes nevertheless.
  void event();
  await answerNext(1);
  expect(shown()).toEqual(["1@1"]);
  await answerNext(2);
  expect(shown()).toEqual(["1@1", "2@2"]);
  await answerNext(1);
  await answerNext(2);
  expect(shown()).toEqual(["1@2", "2@2"]);
});

test("second_click_asks_no_second_time", async () => {
  const shown = observe();
  await answerNext(1);
  const clicks = [client.readMore(KEY, "forward"), client.readMore(KEY, "forward")];
  await answerNext(2);
  await Promise.all(clicks);
  expect(shown()).toEqual(["1@0", "2@0"]);
  expect(requests).toEqual([]);
});

test("failed_page_leaves_the_list_and_can_be_asked_for_again", async () => {
  const shown = observe();
  await answerNext(1);
  const click = client.readMore(KEY, "forward");
  await settled();
  requests.shift()?.signal.dispatchEvent(new Event("abort"));
  await click;
  expect(shown()).toEqual(["1@0"]);
  void client.readMore(KEY, "forward");
  await answerNext(2);
  expect(shown()).toEqual(["1@0", "2@0"]);
});

test("list_left_during_the_next_page_is_stale_after_an_event", async () => {
  observe();
  await answerNext(1);
  const click = client.readMore(KEY, "forward");
  const refetch = event();
  await settled();
  end();
  await Promise.all([click, refetch]);
  expect(client.getQueryState(KEY)?.isInvalidated).toBe(true);
});

test("event_without_a_read_under_way_refetches_at_once", async () => {
  const shown = observe();
  await answerNext(1);
  void event();
  await answerNext(1);
  expect(shown()).toEqual(["1@1"]);
  expect(requests).toEqual([]);
});

test("list_is_refreshed_while_events_come_faster_than_responses", async () => {
  const shown = observe();
  await answerNext(1);
  void event();
  // Each refetch begins after the events before it, and ends although more events come.
  for (const begun of [1, 4, 7]) {
    await settled();
    for (let count = 0; count < 3; count += 1) void event();
    await answerNext(1);
    expect(shown()).toEqual([`1@${begun}`]);
  }
  await answerNext(1);
  expect(shown()).toEqual(["1@10"]);
  // One refetch suffices for the events during a read.
  expect(requests).toEqual([]);
});

test("event_during_a_refetch_that_fails_is_not_lost", async () => {
  const shown = observe();
  await answerNext(1);
  void event();
  await settled();
  void event();
  requests.shift()?.signal.dispatchEvent(new Event("abort"));
  await answerNext(1);
  expect(shown()).toEqual(["1@2"]);
});

test("list_left_during_a_refetch_is_stale_after_an_event", async () => {
  observe();
  await answerNext(1);
  void event();
  await settled();
  const refetch = event();
  end();
  await refetch;
  expect(client.getQueryState(KEY)?.isInvalidated).toBe(true);
});

test("restart_cancels_a_first_read_and_reads_at_once", async () => {
  const shown = observe();
  await settled();
  const hanging = requests.shift();
  change += 1;
  const restart = client.restartQueries();
  await settled();
  expect(hanging?.signal.aborted).toBe(true);
  await answerNext(1);
  await restart;
  expect(shown()).toEqual(["1@1"]);
  expect(requests).toEqual([]);
});

test("restart_cancels_a_refetch_and_reads_at_once", async () => {
  const shown = observe();
  await answerNext(1);
  const refetch = event();
  await settled();
  const hanging = requests.shift();
  change += 1;
  const restart = client.restartQueries();
  await settled();
  expect(hanging?.signal.aborted).toBe(true);
  await answerNext(1);
  await Promise.all([refetch, restart]);
  expect(shown()).toEqual(["1@2"]);
  expect(requests).toEqual([]);
});

test("restart_during_the_next_page_reads_the_list_and_then_the_page", async () => {
  const shown = observe();
  await answerNext(1);
  const click = client.readMore(KEY, "forward");
  await settled();
  const hanging = requests.shift();
  expect(hanging?.number).toBe(2);
  change += 1;
  void client.restartQueries();
  await settled();
  expect(hanging?.signal.aborted).toBe(true);
  await answerNext(1);
  await answerNext(2);
  await click;
  expect(shown()).toEqual(["1@1", "2@1"]);
  expect(requests).toEqual([]);
});

test("restart_during_a_read_of_a_list_that_was_left_leaves_it_stale", async () => {
  observe();
  await answerNext(1);
  void event();
  await settled();
  end();
  await client.restartQueries();
  requests.shift()?.answer();
  await settled();
  expect(client.getQueryState(KEY)).toMatchObject({ isInvalidated: true, fetchStatus: "idle" });
});

test("restart_of_other_queries_leaves_the_read_of_the_next_page", async () => {
  const shown = observe();
  await answerNext(1);
  const click = client.readMore(KEY, "forward");
  await settled();
  await client.restartQueries({ queryKey: ["session"] });
  await answerNext(2);
  await click;
  expect(shown()).toEqual(["1@0", "2@0"]);
  expect(requests).toEqual([]);
});
