/**
 * Asks before a person leaves a view that has unsaved changes.
 *
 * The Navigation API reports every way to another view: links, keys, the palette and Back. A browser without it asks
 * only when the tab is closed.
 */
import { useEffect, useRef, useState } from "react";
import { navigate } from "wouter/use-browser-location";

// The parts of the Navigation API that are used here, because TypeScript does not describe it yet.
interface NavigateEvent extends Event {
  readonly navigationType: "push" | "replace" | "reload" | "traverse";
  readonly destination: { readonly url: string; readonly key: string; readonly sameDocument: boolean };
}

interface Navigation extends EventTarget {
  traverseTo(key: string): unknown;
}

const navigation = (globalThis as { navigation?: Navigation }).navigation;

/** A place where a person wants to go: an address, or an entry of the history. */
type Place = { url: string } | { key: string };

export interface LeaveGuard {
  /** `true` while the person has to decide. */
  asks: boolean;
  stay(): void;
  /** Goes where the person wanted to go. */
  leave(): void;
  /** Asks no more, because the changes are saved or discarded. */
  release(): void;
}

/** Holds the person in the view while `isDirty`. */
export function useLeaveGuard(isDirty: boolean): LeaveGuard {
  const [wanted, setWanted] = useState<Place | null>(null);
  const isReleased = useRef(false);
  useEffect(() => {
    if (!isDirty) return;
    const hold = (event: Event) => {
      const { cancelable, destination, navigationType } = event as NavigateEvent;
      // Another document makes the browser itself ask. It lets Back pass if the person did nothing before.
      if (isReleased.current || !cancelable || !destination.sameDocument) return;
      const { pathname, search, hash } = new URL(destination.url);
      if (pathname === location.pathname) return;
      event.preventDefault();
      setWanted(navigationType === "traverse" ? { key: destination.key } : { url: pathname + search + hash });
    };
    const warn = (event: BeforeUnloadEvent) => {
      if (!isReleased.current) event.preventDefault();
    };
    navigation?.addEventListener("navigate", hold);
    addEventListener("beforeunload", warn);
    return () => {
      navigation?.removeEventListener("navigate", hold);
      removeEventListener("beforeunload", warn);
    };
  }, [isDirty]);
  const release = () => {
    isReleased.current = true;
  };
  return {
    asks: wanted !== null,
    stay: () => setWanted(null),
    release,
    leave: () => {
      if (wanted === null) return;
      release();
      if ("key" in wanted) navigation?.traverseTo(wanted.key);
      else navigate(wanted.url);
    },
  };
}
