/** Reads and writes memory entries. The API replaces an entry without a check of its version, so the page reads it first. */
import { request } from "../../api/client";
import { hasStatus } from "../../api/problem";
import { keys, queryClient } from "../../api/queries";
import type { MemoryEntry, MemoryEntryRequest } from "../../api/types";
import { errorText } from "../../kit/ErrorState";
import { toast } from "../../kit/Toast";
import { entryPath, isSameEntry, type MemoryOwner, requestOfEntry } from "./entries";

/** The stored entry is not the one that the person has seen. It is null if there is none. */
export class EntryChanged extends Error {
  readonly stored: MemoryEntry | null;

  constructor(key: string, stored: MemoryEntry | null) {
    super(stored === null ? `“${key}” was deleted meanwhile` : `“${key}” has changed meanwhile`);
    this.stored = stored;
  }
}

const refetch = (owner: MemoryOwner): Promise<void> =>
  queryClient.invalidateQueries({ queryKey: keys.memory(owner.id) });

async function readEntry(owner: MemoryOwner, key: string): Promise<MemoryEntry | null> {
  try {
    return (await request<MemoryEntry>("GET", entryPath(owner, key))).data;
  } catch (error) {
    if (hasStatus(error, 404)) return null;
    throw error;
  }
}

/**
 * Writes an entry unless it has changed since the person saw `seen`; null stands for no entry.
 *
 * Throws `EntryChanged` if it has.
 */
export async function writeEntry(
  owner: MemoryOwner,
  key: string,
  body: MemoryEntryRequest,
  seen: MemoryEntry | null,
): Promise<void> {
  const stored = await readEntry(owner, key);
  if (!isSameEntry(stored, seen)) throw new EntryChanged(key, stored);
  await request<MemoryEntry>("PUT", entryPath(owner, key), { body });
  await refetch(owner);
}

/** Writes an entry of an agent again as the person's own, so that later turns doubt it no longer. */
export async function confirmEntry(owner: MemoryOwner, entry: MemoryEntry): Promise<void> {
  try {
    await writeEntry(owner, entry.key, requestOfEntry(entry), entry);
    toast(`“${entry.key}” is confirmed`);
  } catch (error) {
    if (error instanceof EntryChanged) void refetch(owner);
    toast(errorText(error));
  }
}

/** Deletes an entry of a person at once. Undo writes it again. */
export async function deleteEntry(owner: MemoryOwner, key: string): Promise<void> {
  try {
    const entry = await removeEntry(owner, key);
    // An agent may have written it since the list was read.
    const undo = entry.run_id === null ? () => writeEntry(owner, key, requestOfEntry(entry), null) : null;
    toast(`“${key}” is deleted`, undo);
  } catch (error) {
    toast(errorText(error));
  }
}

export async function removeEntry(owner: MemoryOwner, key: string): Promise<MemoryEntry> {
  try {
    const { data } = await request<MemoryEntry>("DELETE", entryPath(owner, key));
    return data;
  } finally {
    // Also after a failure, because another person may have deleted it.
    void refetch(owner);
  }
}
