/**
 * Keeps the idempotency keys of creations whose outcome is unknown.
 *
 * A form that sends again the content of a lost request must send it with the same key. The form cannot keep the key
 * itself, because a person may leave its view or load the page again, and finds the draft there. So the browser keeps
 * the key beside the draft, until a response says what became of the creation.
 */
import { newKey, type Result, request } from "./client";
import { ApiProblem } from "./problem";

interface Kept {
  target: string;
  content: string;
  key: string;
  /** When the creation was sent last, in milliseconds since 1970. */
  sentAt: number;
}

interface Keeper {
  read(): Kept[];
  write(kept: Kept[]): void;
}

const STORE = "matins.keys";
/** A person seldom has more creations of unknown outcome. The oldest are forgotten. */
const MAX_KEPT = 20;
/** A person who sends the same content later than this means another creation. */
const MAX_AGE_MS = 15 * 60_000;

/** The keys of this tab, if the browser has no storage or no more space. */
let unstored: Kept[] | null = null;

const storage: Keeper = {
  read() {
    if (unstored !== null) return unstored;
    try {
      return JSON.parse(localStorage.getItem(STORE) ?? "[]") as Kept[];
    } catch {
      return [];
    }
  },
  write(kept) {
    try {
      if (kept.length === 0) localStorage.removeItem(STORE);
      else localStorage.setItem(STORE, JSON.stringify(kept));
      unstored = null;
    } catch {
      unstored = kept;
    }
  },
};

function forget(keeper: Keeper, isForgotten: (kept: Kept) => boolean): void {
  const kept = keeper.read();
  const rest = kept.filter((each) => !isForgotten(each));
  if (rest.length < kept.length) keeper.write(rest);
}

/** Forgets the keys of a target whose form was discarded, because the next creation there is another one. */
export function forgetKeys(target: string): void {
  forget(storage, (each) => each.target === target);
}

/** Forgets every key, so that the next person who signs in finds no content. */
export function forgetAllKeys(): void {
  storage.write([]);
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

async function sendWith<T>(
  keeper: Keeper,
  target: string,
  content: unknown,
  send: (key: string) => Promise<T>,
): Promise<T> {
  const text = JSON.stringify(content);
  const now = Date.now();
  const kept = keeper.read().filter(({ sentAt }) => now - sentAt < MAX_AGE_MS);
  const key = kept.find((each) => each.target === target && each.content === text)?.key ?? newKey();
  const others = kept.filter((each) => each.key !== key);
  // Before the request, because the tab may be closed while it is on its way.
  keeper.write([...others, { target, content: text, key, sentAt: now }].slice(-MAX_KEPT));
  let result: T;
  try {
    result = await send(key);
  } catch (error) {
    if (isFinal(error)) forget(keeper, (each) => each.key === key);
    throw error;
  }
  // No other key of the target, because another tab may be waiting for the response to its request.
  forget(keeper, (each) => each.key === key);
  return result;
}

/**
 * Calls `send` with the key of the creation of `content` for `target`. The same content for the same target gets the
 * same key, until this creation succeeds or is refused, or a quarter of an hour has passed since it was sent last.
 */
export function sendKeyed<T>(
  target: string,
  content: unknown,
  send: (key: string) => Promise<T>,
): Promise<T> {
  return sendWith(storage, target, content, send);
}

/**
 * Sends the creation that a click asks for. A click after a lost response repeats the creation with its key; a click
 * after a response makes another one.
 */
export function postKeyed<T>(path: string, body?: unknown): Promise<Result<T>> {
  return sendKeyed(path, body ?? null, (idempotencyKey) =>
    request<T>("POST", path, { idempotencyKey, ...(body !== undefined && { body }) }),
  );
}

/**
 * Returns a function that sends the creations of one dialog as `sendKeyed` does. The keys last as long as the function,
 * so that a dialog that is opened again makes another creation. The contents, which can have secrets, are not stored.
 */
export function keyedSender(): <T>(content: unknown, send: (key: string) => Promise<T>) => Promise<T> {
  let kept: Kept[] = [];
  const keeper: Keeper = {
    read: () => kept,
    write: (next) => {
      kept = next;
    },
  };
  return (content, send) => sendWith(keeper, "", content, send);
}
