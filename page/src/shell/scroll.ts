import { type RefObject, useLayoutEffect, useRef } from "react";

const places = new Map<string, number>();
let wentBack = false;
addEventListener("popstate", () => {
  wentBack = true;
});

/** Returns the place of an address. A goal stays in its place when a person chooses one of its tasks. */
export const placeOf = (path: string, search: string): string =>
  path.startsWith("/goals/") ? path : path + search;

/** Restores the scroll of an element after Back, and begins at the top on other ways. `place` as of `placeOf`. */
export function useScrollMemory(ref: RefObject<HTMLElement | null>, place: string): void {
  const latest = useRef(place);
  latest.current = place;
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return;
    const wanted = wentBack ? (places.get(place) ?? 0) : 0;
    wentBack = false;
    element.scrollTop = wanted;
    // The rows may come later: try again until the content is long enough.
    const observer = new MutationObserver(() => {
      if (element.scrollTop !== wanted) element.scrollTop = wanted;
      if (element.scrollTop === wanted) observer.disconnect();
    });
    if (element.scrollTop !== wanted) observer.observe(element, { childList: true, subtree: true });
    const remember = () => {
      observer.disconnect();
      places.set(latest.current, element.scrollTop);
    };
    element.addEventListener("scroll", remember, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", remember);
    };
  }, [ref, place]);
}
