import { InfiniteQueryObserver, QueryClient } from "@tanstack/react-query";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { SeatMessage } from "../../api/types";
import { messagesOf } from "./message-pages";

const id = (seq: number) => `msg_${seq}`;

/** The messages of the server, by their numbers from 1 on. */
let count = 12_000;
let requests = 0;

function answer(address: string): Response {
  requests += 1;
  const { searchParams } = new URL(address, "http://page");
  const limit = Number(searchParams.get("limit"));
  const since = searchParams.get("since");
  const step = searchParams.get("order") === "newest" ? -1 : 1;
  let seq = since === null ? (step === 1 ? 1 : count) : Number(since.slice(4)) + step;
  const items: Pick<SeatMessage, "id" | "seq">[] = [];
  for (; items.length < limit && seq >= 1 && seq <= count; seq += step) items.push({ id: id(seq), seq });
  const hasMore = seq >= 1 && seq <= count;
  return Response.json({ items, next: hasMore ? items.at(-1)?.id : null });
}

function observe() {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  const observer = new InfiniteQueryObserver(client, messagesOf("ses_1"));
  const end = observer.subscribe(() => undefined);
  const seqs = () =>
    observer.getCurrentResult().data?.pages.flatMap((page) => page.items.map(({ seq }) => seq)) ?? [];
  return { observer, seqs, end };
}

/** Expects that each message follows the next newer one, without a gap. */
function expectSequence(seqs: number[]): void {
  const gap = seqs.findIndex((seq, index) => seq !== (seqs[0] ?? 0) - index);
  expect(gap, `a gap before ${seqs[gap]}`).toBe(-1);
}

beforeEach(() => {
  count = 12_000;
  requests = 0;
  vi.stubGlobal(
    "fetch",
    vi.fn(async (address: string) => answer(address)),
  );
});
afterEach(() => vi.unstubAllGlobals());

test("first_page_has_newest_messages_in_one_request", async () => {
  const { observer, seqs, end } = observe();
  await observer.refetch({ cancelRefetch: false });
  expect(requests).toBe(1);
  expect(seqs()).toHaveLength(20);
  expect(seqs()[0]).toBe(12_000);
  expect(observer.getCurrentResult().hasNextPage).toBe(true);
  expect(observer.getCurrentResult().hasPreviousPage).toBe(false);
  end();
});

test("all_messages_beyond_ten_thousand_are_reached_within_bounded_memory", async () => {
  const { observer, seqs, end } = observe();
  await observer.refetch({ cancelRefetch: false });
  const seen = new Set(seqs());
  while (observer.getCurrentResult().hasNextPage) {
    await observer.fetchNextPage();
    expectSequence(seqs());
    expect(seqs().length).toBeLessThanOrEqual(1_000);
    for (const seq of seqs()) seen.add(seq);
  }
  expect(seqs().at(-1)).toBe(1);
  expect(seen.size).toBe(12_000);
  while (observer.getCurrentResult().hasPreviousPage) {
    await observer.fetchPreviousPage();
    expectSequence(seqs());
    expect(seqs().length).toBeLessThanOrEqual(1_000);
  }
  expect(seqs()[0]).toBe(12_000);
  end();
});

test("new_message_comes_first_and_moves_no_gap_into_the_window", async () => {
  const { observer, seqs, end } = observe();
  await observer.refetch({ cancelRefetch: false });
  await observer.fetchNextPage();
  count += 7;
  await observer.refetch();
  expect(seqs()[0]).toBe(12_007);
  expectSequence(seqs());
  // Pages of the middle stay where they are.
  for (let page = 0; page < 12; page += 1) await observer.fetchNextPage();
  const middle = seqs();
  count += 7;
  await observer.refetch();
  expect(seqs()).toEqual(middle);
  expect(observer.getCurrentResult().hasPreviousPage).toBe(true);
  end();
});
