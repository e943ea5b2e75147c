/** Pages of the memory of an automation or a session, by their keys. */
import { infiniteQueryOptions, keepPreviousData } from "@tanstack/react-query";
import { get } from "../../api/client";
import { keys } from "../../api/queries";
import type { MemoryEntry, Page } from "../../api/types";
import { type MemoryOwner, memoryPath } from "./entries";

const PAGE = 50;

/** The entries with a text in their key or in their value; all of them if the text is empty. */
export const entriesOf = (owner: MemoryOwner, text: string) =>
  infiniteQueryOptions({
    queryKey: [...keys.memory(owner.id), "list", text],
    queryFn: ({ signal, pageParam }) =>
      get<Page<MemoryEntry>>(memoryPath(owner), { text, after: pageParam, limit: PAGE }, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    placeholderData: keepPreviousData,
    // Commands and other people write without an event.
    refetchOnWindowFocus: true,
  });
