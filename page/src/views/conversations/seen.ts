/** Until which change this browser has shown each conversation. */
import { readSeen, markSeen as write } from "./drafts";

let current = readSeen();
const listeners = new Set<() => void>();

function read(): void {
  current = readSeen();
  for (const listener of listeners) listener();
}

// Another tab may have shown it.
addEventListener("storage", (event) => {
  if (event.key === "matins.seen") read();
});

export function onSeen(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const seenAt = (): Record<string, string> => current;

export function markSeen(session: string, updatedAt: string): void {
  if ((current[session] ?? "") >= updatedAt) return;
  write(session, updatedAt);
  read();
}
