/** Drafts of messages, kept in the browser so that a reload or an ended sign-in loses nothing. */
import { useEffect, useSyncExternalStore } from "react";

/** The text in a message field, and the text before it that is on its way to the server. Both are often empty. */
export interface Draft {
  typed: string;
  sending: string;
}

const drafts = new Map<string, Draft>();
const listeners = new Set<() => void>();

const key = (session: string) => `matins.draft.${session}`;

function read(session: string): string {
  try {
    return localStorage.getItem(key(session)) ?? "";
  } catch {
    return "";
  }
}

function write(session: string, text: string): void {
  try {
    if (text === "") localStorage.removeItem(key(session));
    else localStorage.setItem(key(session), text);
  } catch {
    // Without storage the draft lasts as long as its field.
  }
}

const joined = (first: string, second: string): string =>
  first === "" || second === "" ? first + second : `${first}\n\n${second}`;

export function draftOf(session: string): Draft {
  let draft = drafts.get(session);
  if (draft === undefined) {
    draft = { typed: read(session), sending: "" };
    drafts.set(session, draft);
  }
  return draft;
}

function change(session: string, draft: Draft): void {
  drafts.set(session, draft);
  // The text on its way as well, because it may never arrive if the tab is closed now.
  write(session, joined(draft.sending, draft.typed));
  for (const listener of listeners) listener();
}

/** Replaces the text in the field. */
export function setTyped(session: string, typed: string): void {
  change(session, { ...draftOf(session), typed });
}

/** Adds a paragraph to the text in the field. */
export function addTyped(session: string, text: string): void {
  setTyped(session, joined(draftOf(session).typed, text));
}

/**
 * Empties the field and sends its text, so that what is typed meanwhile is another message. If `send` fails, the text
 * comes back before what was typed, and the error is thrown. Does nothing if the field is empty or a text is on its way.
 */
export async function sendDraft(session: string, send: (text: string) => Promise<unknown>): Promise<void> {
  const { typed: text, sending } = draftOf(session);
  if (text.trim() === "" || sending !== "") return;
  change(session, { typed: "", sending: text });
  try {
    await send(text.trim());
  } catch (error) {
    change(session, { typed: joined(text, draftOf(session).typed), sending: "" });
    throw error;
  }
  change(session, { ...draftOf(session), sending: "" });
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The draft of a conversation. Give the component a `key` of the conversation. */
export function useDraft(session: string): Draft {
  // Another tab may write the draft until the field is shown again.
  useEffect(
    () => () => {
      if (draftOf(session).sending === "") drafts.delete(session);
    },
    [session],
  );
  return useSyncExternalStore(subscribe, () => draftOf(session));
}

const SEEN = "matins.seen";

/** Until which change this browser has shown each conversation. */
export function readSeen(): Record<string, string> {
  try {
    return JSON.parse(localStorage.getItem(SEEN) ?? "{}") as Record<string, string>;
  } catch {
    return {};
  }
}

export function markSeen(session: string, updatedAt: string): void {
  try {
    const seen = readSeen();
    if ((seen[session] ?? "") >= updatedAt) return;
    seen[session] = updatedAt;
    // The newest are enough.
    const kept = Object.entries(seen)
      .sort((a, b) => b[1].localeCompare(a[1]))
      .slice(0, 500);
    localStorage.setItem(SEEN, JSON.stringify(Object.fromEntries(kept)));
  } catch {
    // Then the mark stays.
  }
}
