/** Keyboard commands. They are off in text fields and while a dialog or a menu is open. */
import { type RefObject, useEffect, useRef } from "react";
import { navigate } from "wouter/use-browser-location";
import type { VirtualListHandle } from "../kit/VirtualList";
import { views } from "../views/registry";

const CHORD_MS = 1_500;

function inTextField(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || target.matches("input, textarea, select"))
  );
}

function dialogIsOpen(): boolean {
  return document.querySelector('[role="dialog"], [role="alertdialog"], dialog[open]') !== null;
}

/** `true` if a dialog or a menu is open. Letters choose the items of a menu. */
function layerIsOpen(): boolean {
  return dialogIsOpen() || document.querySelector('[role="menu"]') !== null;
}

/**
 * `true` if the keys of a person go to a text field, a dialog or a menu, so that a view that loads late must not take the
 * focus.
 */
export const isTyping = (): boolean => inTextField(document.activeElement) || layerIsOpen();

/**
 * Calls the handler when the key is pressed outside text fields. Without a handler, the key is left to others. A key that
 * is held down acts once, unless `repeats`.
 */
export function useKey(key: string, handler: (() => void) | null, repeats = false): void {
  const latest = useRef(handler);
  latest.current = handler;
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.key !== key || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented)
        return;
      if (latest.current === null || inTextField(event.target) || layerIsOpen() || chordBeganAt !== 0) return;
      event.preventDefault();
      if (repeats || !event.repeat) latest.current();
    };
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, [key, repeats]);
}

/** Moves the focus through the rows of a list with `j` and `k`. Enter opens the row, because its link has the focus. */
export function useRowKeys(list: RefObject<VirtualListHandle | null>): void {
  useKey("j", () => list.current?.focusRow(1), true);
  useKey("k", () => list.current?.focusRow(-1), true);
}

let chordBeganAt = 0;

/** Listens for `g` and a letter, which goes to a view, and for Ctrl K. */
export function useShellKeys(openPalette: () => void): void {
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        // The browser would search in its address line.
        event.preventDefault();
        if (!dialogIsOpen()) openPalette();
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || inTextField(event.target) || layerIsOpen())
        return;
      if (Date.now() - chordBeganAt < CHORD_MS && chordBeganAt !== 0) {
        const view = views.find((each) => each.key === event.key);
        if (view) {
          event.preventDefault();
          navigate(view.href);
        }
        // After this event, so that the letter is no command of its own.
        setTimeout(() => {
          chordBeganAt = 0;
        });
      } else if (event.key === "g") {
        chordBeganAt = Date.now();
        setTimeout(() => {
          if (Date.now() - chordBeganAt >= CHORD_MS) chordBeganAt = 0;
        }, CHORD_MS);
      }
    };
    addEventListener("keydown", listen, true);
    return () => removeEventListener("keydown", listen, true);
  }, [openPalette]);
}
