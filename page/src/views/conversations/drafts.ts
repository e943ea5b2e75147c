/** Drafts of messages, kept in the browser so that a reload or an ended sign-in loses nothing. */
import { useEffect, useSyncExternalStore } from "react";
import { forgetAllKeys, forgetKeys } from "../../api/keyed";

/** The text in a message field, and the text before it that is on its way to the server. Both are often empty. */
export interface Draft {
  typed: string;
  sending: string;
  /** The name of the seat that a person has chosen as the receiver; null if none was chosen. */
  to: string | null;
}

const drafts = new Map<string, Draft>();
const listeners = new Set<() => void>();
/** The sessions whose last change the storage has not taken, so that it may have an earlier text of this tab. */
const unstored = new Set<string>();
/** Grows with each sign-out, so that a request that ends afterwards brings no text back. */
let signOuts = 0;
/** The sessions whose fields are shown. */
const shown = new Set<string>();

const key = (session: string) => `matins.draft.${session}`;
const keyOfReceiver = (session: string) => `${key(session)}.to`;

function readKey(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

const read = (session: string): string => readKey(key(session)) ?? "";
const readReceiver = (session: string): string | null => readKey(keyOfReceiver(session));

function writeKey(name: string, value: string | null): void {
  if (value === null) localStorage.removeItem(name);
  else localStorage.setItem(name, value);
}

/** Returns `false` if there is no storage. The draft then lasts as long as its field. */
function write(session: string, text: string, to: string | null): boolean {
  try {
    // The receiver first, because without it the text would go to another seat.
    writeKey(keyOfReceiver(session), to);
    writeKey(key(session), text === "" ? null : text);
    return true;
  } catch {
    return false;
  }
}

/** Every kind of draft: messages, and the forms of goals and automations. */
const PREFIXES = ["matins.draft.", "matins.goal.", "matins.automation."];

/** Deletes the drafts of this browser and their keys, so that the next person who signs in does not see them. */
export function forgetDrafts(): void {
  signOuts += 1;
  drafts.clear();
  unstored.clear();
  forgetAllKeys();
  try {
    const stored = Array.from({ length: localStorage.length }, (_, index) => localStorage.key(index) ?? "");
    for (const name of stored)
      if (PREFIXES.some((prefix) => name.startsWith(prefix))) localStorage.removeItem(name);
  } catch {
    // Without storage no draft outlives the page.
  }
}

const joined = (first: string, second: string): string =>
  first === "" || second === "" ? first + second : `${first}\n\n${second}`;

export function draftOf(session: string): Draft {
  let draft = drafts.get(session);
  if (draft === undefined) {
    draft = { typed: read(session), sending: "", to: readReceiver(session) };
    drafts.set(session, draft);
  }
  return draft;
}

/** Stores the receiver only `withReceiver`, because a text that is sent leaves none to the next one. */
function change(session: string, draft: Draft, withReceiver = true): void {
  // The text on its way as well, because it may never arrive if the tab is closed now.
  const isStored = write(session, joined(draft.sending, draft.typed), withReceiver ? draft.to : null);
  if (isStored) unstored.delete(session);
  else unstored.add(session);
  // Without its field the storage alone has the draft, because another tab may replace it there.
  if (isStored && draft.sending === "" && !shown.has(session)) drafts.delete(session);
  else drafts.set(session, draft);
  for (const listener of listeners) listener();
}

/** Replaces the text in the field. */
export function setTyped(session: string, typed: string): void {
  const draft = draftOf(session);
  // A person who deletes the text of a lost request has seen it arrive. The same text, typed later, is a new message.
  if (typed === "" && draft.typed !== "" && draft.sending === "") forgetKeys(session);
  change(session, { ...draft, typed });
}

/** Chooses the seat that gets the text in the field, also before it is typed. */
export function setReceiver(session: string, to: string): void {
  change(session, { ...draftOf(session), to });
}

/** Adds a paragraph to the text in the field. */
export function addTyped(session: string, text: string): void {
  setTyped(session, joined(draftOf(session).typed, text));
}

/** Moves the text in the field of one draft to another draft. Forgets no key, because nothing is discarded. */
export function moveTyped(from: string, to: string): void {
  addTyped(to, draftOf(from).typed);
  change(from, { ...draftOf(from), typed: "" });
}

/**
 * Empties the field and sends its text, so that what is typed meanwhile is another message. If `send` fails, the text
 * comes back before what was typed, and the error is thrown. A draft that another tab writes meanwhile is kept. After
 * a sign-out no text comes back. Does nothing if the field is empty or a text is on its way.
 *
 * The receiver stays chosen while the field is shown, and belongs to the text that comes back.
 */
export async function sendDraft(session: string, send: (text: string) => Promise<unknown>): Promise<void> {
  const { typed: text, sending, to } = draftOf(session);
  if (text.trim() === "" || sending !== "") return;
  change(session, { typed: "", sending: text, to });
  const signOutsBefore = signOuts;
  try {
    await send(text.trim());
  } catch (error) {
    if (signOuts !== signOutsBefore) throw error;
    const { typed, to: next } = draftOf(session);
    const other = draftOfAnotherTab(session);
    // The other tab may have begun with the text on its way.
    const back = beginsWith(other, text) ? typed : joined(text, typed);
    change(session, { typed: joined(other, back), sending: "", to: typed === "" ? to : next });
    throw error;
  }
  const other = draftOfAnotherTab(session);
  const { typed, to: next } = draftOf(session);
  // A draft of another tab has the receiver of that tab.
  const receiver = other !== "" && typed === "" ? readReceiver(session) : next;
  const rest = joined(other, typed);
  change(session, { typed: rest, sending: "", to: receiver }, rest !== "");
}

/** `true` if `draft` begins with `text`, and the last word of `text` ends there. */
function beginsWith(draft: string, text: string): boolean {
  const [whole, start] = [draft.trim(), text.trim()];
  return whole.startsWith(start) && !/^[\p{L}\p{M}\p{N}_]/u.test(whole.slice(start.length));
}

/** Returns the stored draft if another tab has written it since the last change of this tab, and an empty text otherwise. */
function draftOfAnotherTab(session: string): string {
  const { typed, sending } = draftOf(session);
  const text = read(session);
  return unstored.has(session) || text === joined(sending, typed) ? "" : text;
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Keeps the draft in this tab while its field is shown. Call the returned function when the field goes. */
export function showField(session: string): () => void {
  shown.add(session);
  return () => {
    shown.delete(session);
    // Another tab may write the draft until the field is shown again.
    if (draftOf(session).sending === "") drafts.delete(session);
  };
}

/** The draft of a conversation. Give the component a `key` of the conversation. */
export function useDraft(session: string): Draft {
  useEffect(() => showField(session), [session]);
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
