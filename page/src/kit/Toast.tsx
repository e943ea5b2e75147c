import { useEffect, useState, useSyncExternalStore } from "react";
import { errorText } from "./ErrorState";
import css from "./kit.module.css";
import { visibleLines } from "./visible";

const UNDO_MS = 8_000;

interface Toast {
  id: number;
  text: string;
  endsAt: number;
  undo: (() => Promise<unknown>) | null;
}

let toasts: Toast[] = [];
let nextId = 1;
const listeners = new Set<() => void>();

function change(next: Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

/** Says that something was done. With `undo`, the message has a button for eight seconds. */
export function toast(text: string, undo: (() => Promise<unknown>) | null = null): void {
  const id = nextId;
  nextId += 1;
  change([...toasts.slice(-2), { id, text: visibleLines(text), undo, endsAt: Date.now() + UNDO_MS }]);
  setTimeout(() => dismiss(id), UNDO_MS);
}

function dismiss(id: number): void {
  change(toasts.filter((each) => each.id !== id));
}

/** Shows the messages. The shell has one. */
export function Toasts() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => toasts,
  );
  return (
    <div className={css.toasts} role="status" aria-live="polite">
      {shown.map((each) => (
        <ToastRow key={each.id} toast={each} />
      ))}
    </div>
  );
}

function ToastRow({ toast: shown }: { toast: Toast }) {
  const [left, setLeft] = useState(Math.ceil((shown.endsAt - Date.now()) / 1000));
  useEffect(() => {
    const timer = setInterval(() => setLeft(Math.max(0, Math.ceil((shown.endsAt - Date.now()) / 1000))), 500);
    return () => clearInterval(timer);
  }, [shown.endsAt]);
  const { undo } = shown;
  return (
    <div className={css.toast}>
      <span>{shown.text}</span>
      {undo && (
        <>
          <button
            type="button"
            onClick={() => {
              dismiss(shown.id);
              undo().catch((error: unknown) => toast(errorText(error)));
            }}
          >
            Undo
          </button>
          <small aria-hidden="true">{left} s</small>
        </>
      )}
    </div>
  );
}
