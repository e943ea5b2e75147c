/** Drafts of messages, kept in the browser so that a reload or an ended sign-in loses nothing. */
import { useCallback, useState } from "react";

const key = (session: string) => `matins.draft.${session}`;

function read(session: string): string {
  try {
    return localStorage.getItem(key(session)) ?? "";
  } catch {
    return "";
  }
}

export function writeDraft(session: string, text: string): void {
  try {
    if (text === "") localStorage.removeItem(key(session));
    else localStorage.setItem(key(session), text);
  } catch {
    // Without storage the draft lasts as long as the tab.
  }
}

/** The draft of a conversation. Give the component a `key` of the conversation. */
export function useDraft(session: string): [string, (text: string) => void] {
  const [draft, setDraft] = useState(() => read(session));
  const set = useCallback(
    (text: string) => {
      setDraft(text);
      writeDraft(session, text);
    },
    [session],
  );
  return [draft, set];
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
