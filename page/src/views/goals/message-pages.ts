/** Pages of the messages between seats, from the newest one back. A window of them is in memory. */
import { infiniteQueryOptions } from "@tanstack/react-query";
import { get } from "../../api/client";
import { keys } from "../../api/queries";
import type { Page, SeatMessage } from "../../api/types";

const FIRST_ITEMS = 20;
const MORE_ITEMS = 100;
/** Beyond them, a page that comes at one end of the window drops the page at the other end. */
const MAX_PAGES = 10;

/** A position in the list: the messages before `since`, after it, or the newest ones. */
type Position = { order: "newest"; since: string | null } | { order: "oldest"; since: string };

interface MessagesPage {
  /** The newest first. */
  items: SeatMessage[];
  /** The ID before which the next older page ends. `null` if there is no older message. */
  older: string | null;
  /** The ID after which the next newer page begins. `null` if there is no newer message. */
  newer: string | null;
}

/** Returns the page at a position. Messages keep their order, so that the cursors of a page stay valid. */
async function readPage(goal: string, position: Position, signal: AbortSignal): Promise<MessagesPage> {
  const { order, since } = position;
  const limit = since === null ? FIRST_ITEMS : MORE_ITEMS;
  const path = `/sessions/${goal}/seat-messages`;
  const { items, next } = await get<Page<SeatMessage>>(path, { order, since, limit }, signal);
  if (order === "newest") {
    return { items, older: next, newer: since === null ? null : (items[0]?.id ?? null) };
  }
  return { items: items.reverse(), older: items.at(-1)?.id ?? since, newer: next };
}

export const messagesOf = (goal: string) =>
  infiniteQueryOptions({
    queryKey: [...keys.goal(goal), "messages"],
    initialPageParam: { order: "newest", since: null } as Position,
    queryFn: ({ pageParam, signal }) => readPage(goal, pageParam, signal),
    getNextPageParam: ({ older }): Position | null =>
      older === null ? null : { order: "newest", since: older },
    getPreviousPageParam: ({ newer }): Position | null =>
      newer === null ? null : { order: "oldest", since: newer },
    maxPages: MAX_PAGES,
  });
