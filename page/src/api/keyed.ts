/**
 * Keeps the idempotency keys of creations whose outcome is unknown.
 *
 * A form that sends again the content of a lost request must send it with the same key. The form cannot keep the key
 * itself, because a person may leave its view or load the page again, and finds the draft there. So the browser keeps
 * the key beside the draft, until a response says what became of the creation.
 */
import { newKey } from "./client";
import { ApiProblem } from "./problem";

interface Kept {
  target: string;
  content: string;
  key: string;
}

const STORE = "matins.keys";
/** A person seldom has more creations of unknown outcome. The oldest are forgotten. */
const MAX_KEPT = 20;

/** The keys of this tab, if the browser has no storage or no more space. */
let unstored: Kept[] | null = null;

function read(): Kept[] {
  if (unstored !== null) return unstored;
  try {
    return JSON.parse(localStorage.getItem(STORE) ?? "[]") as Kept[];
  } catch {
    return [];
  }
}

function write(kept: Kept[]): void {
  try {
    if (kept.length === 0) localStorage.removeItem(STORE);
    else localStorage.setItem(STORE, JSON.stringify(kept));
    unstored = null;
  } catch {
    unstored = kept;
  }
}

function forget(isForgotten: (kept: Kept) => boolean): void {
  const kept = read();
  const rest = kept.filter((each) => !isForgotten(each));
  if (rest.length < kept.length) write(rest);
}

/** Forgets the keys of a target, because the next creation there is another one. */
export function forgetKeys(target: string): void {
  forget((each) => each.target === target);
}

/** Forgets every key, so that the next person who signs in finds no content. */
export function forgetAllKeys(): void {
  write([]);
}

/**
 * `true` if a response says that the creation has taken no effect and will take none. Without a sign-in, and with too
 * many requests, the server does not look for the key, so that the first request may have taken effect.
 */
function isFinal(error: unknown): boolean {
  return (
    error instanceof ApiProblem &&
    error.status >= 400 &&
    error.status < 500 &&
    ![401, 408, 425, 429].includes(error.status)
  );
}

/**
 * Calls `send` with the key of the creation of `content` for `target`. The same content for the same target gets the
 * same key, until a creation for that target succeeds or this one is refused.
 */
export async function sendKeyed<T>(
  target: string,
  content: unknown,
  send: (key: string) => Promise<T>,
): Promise<T> {
  const text = JSON.stringify(content);
  const kept = read();
  const own = kept.find((each) => each.target === target && each.content === text) ?? {
    target,
    content: text,
    key: newKey(),
  };
  // Before the request, because the tab may be closed while it is on its way.
  write([...kept.filter((each) => each.key !== own.key), own].slice(-MAX_KEPT));
  let result: T;
  try {
    result = await send(own.key);
  } catch (error) {
    if (isFinal(error)) forget((each) => each.key === own.key);
    throw error;
  }
  // The earlier contents as well: a person who sends one of them after another creation means a new one.
  forgetKeys(target);
  return result;
}
