import { useEffect, useState } from "react";
import { countdown, dayAndTime, duration, longTime, shortTime } from "./format";

/** Renders again at an interval while the component is shown, and returns the present instant. */
export function useNow(intervalMs: number): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), intervalMs);
    return () => clearInterval(timer);
  }, [intervalMs]);
  return now;
}

/** An instant in the reader's zone. The tooltip has the whole date and the zone. */
export function Time({ at, withTime = false }: { at: string; withTime?: boolean }) {
  return (
    <time dateTime={at} title={longTime(at)}>
      {withTime ? dayAndTime(at) : shortTime(at)}
    </time>
  );
}

/** The time between two instants; until now if `to` is null. */
export function Duration({ from, to }: { from: string; to: string | null }) {
  const now = useNow(to === null ? 1000 : 3_600_000);
  const end = to === null ? now : Date.parse(to);
  return <>{duration(end - Date.parse(from))}</>;
}

/** The time that is left until an instant, such as `6:12`. */
export function Countdown({ until }: { until: string }) {
  const now = useNow(1000);
  return <>{countdown(Date.parse(until) - now)}</>;
}
