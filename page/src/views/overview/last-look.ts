/** Remembers when this browser last showed the overview, so that it can tell what ran since then. */
import { useEffect, useState } from "react";

const LOOKED = "matins.looked";
const SINCE = "matins.since";

/** A tab that comes back after this time shows what ran while it was hidden. */
const AWAY_MS = 30 * 60_000;

/** The server accepts 31 days. */
const LONGEST_MS = 30 * 86_400_000;

/** Returns an instant that the server accepts: not in the future and not too long ago. */
export function acceptable(instant: string | null, now: number): string | null {
  const at = instant === null ? Number.NaN : Date.parse(instant);
  if (Number.isNaN(at) || at > now) return null;
  return new Date(Math.max(at, now - LONGEST_MS)).toISOString();
}

/**
 * Returns the instant of the last look; null if there was none. It stays the same while the tab is open, so that a
 * reload hides nothing.
 */
export function useLastLook(): string | null {
  const [since, setSince] = useState(() => {
    const kept = sessionStorage.getItem(SINCE);
    if (kept !== null) return acceptable(kept, Date.now());
    const looked = acceptable(localStorage.getItem(LOOKED), Date.now());
    // Also without an earlier look: otherwise a reload would count the look before the reload as one.
    sessionStorage.setItem(SINCE, looked ?? "");
    return looked;
  });
  useEffect(() => {
    let hiddenAt: number | null = null;
    const note = () => localStorage.setItem(LOOKED, new Date().toISOString());
    const change = () => {
      if (document.visibilityState === "hidden") {
        hiddenAt = Date.now();
        note();
      } else if (hiddenAt !== null && Date.now() - hiddenAt > AWAY_MS) {
        const next = new Date(hiddenAt).toISOString();
        sessionStorage.setItem(SINCE, next);
        setSince(next);
      }
    };
    document.addEventListener("visibilitychange", change);
    addEventListener("pagehide", note);
    return () => {
      note();
      document.removeEventListener("visibilitychange", change);
      removeEventListener("pagehide", note);
    };
  }, []);
  return since;
}
