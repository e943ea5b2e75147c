/** Formats times, durations and amounts. All instants come from the server; the browser computes no schedule. */

/** The zone of the reader, such as `Europe/Prague`. */
export const readerZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

const LOCALE = "en-GB";

function parts(at: Date, zone: string): { day: string } {
  return { day: at.toLocaleDateString("sv-SE", { timeZone: zone }) };
}

export function clock(at: string, zone = readerZone()): string {
  return new Date(at).toLocaleTimeString(LOCALE, { hour: "2-digit", minute: "2-digit", timeZone: zone });
}

export function clockWithSeconds(at: number, zone = readerZone()): string {
  return new Date(at).toLocaleTimeString(LOCALE, { timeZone: zone });
}

/** Returns the time of an instant today, the weekday within six days, and else the date. */
export function shortTime(at: string, now = Date.now(), zone = readerZone()): string {
  const then = new Date(at);
  const today = new Date(now);
  if (parts(then, zone).day === parts(today, zone).day) return clock(at, zone);
  const days = Math.abs(now - then.getTime()) / 86_400_000;
  if (days < 6) return then.toLocaleDateString(LOCALE, { weekday: "short", timeZone: zone });
  const sameYear = parts(then, zone).day.slice(0, 4) === parts(today, zone).day.slice(0, 4);
  const year = sameYear ? {} : { year: "numeric" as const };
  return then.toLocaleDateString(LOCALE, { day: "numeric", month: "short", timeZone: zone, ...year });
}

/** As `shortTime`, and with the time of other days: `Wed 09:00`, `12 Nov 09:00`. */
export function dayAndTime(at: string, now = Date.now(), zone = readerZone()): string {
  const short = shortTime(at, now, zone);
  const time = clock(at, zone);
  return short === time ? time : `${short} ${time}`;
}

/** Returns the reason of a failure without the words that each has. */
export function briefReason(message: string | null): string | null {
  return message?.replace(/^the turn failed: /i, "") ?? null;
}

/** Replaces the instants in a text of the server, which are in UTC, by those of the reader. */
export function localTimes(text: string, now = Date.now(), zone = readerZone()): string {
  return text.replace(/\b\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z/g, (at) => dayAndTime(at, now, zone));
}

export function longTime(at: string, zone = readerZone()): string {
  const text = new Date(at).toLocaleString(LOCALE, {
    weekday: "short",
    day: "numeric",
    month: "short",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    timeZone: zone,
  });
  return `${text}, ${zone}`;
}

export function dayHeading(at: string, zone = readerZone()): string {
  return new Date(at).toLocaleDateString(LOCALE, {
    weekday: "short",
    day: "numeric",
    month: "short",
    timeZone: zone,
  });
}

export function sameDay(a: string, b: string, zone = readerZone()): boolean {
  return parts(new Date(a), zone).day === parts(new Date(b), zone).day;
}

export function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 1) return "under 1 s";
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) {
    const rest = seconds % 60;
    return rest === 0 ? `${minutes} min` : `${minutes} min ${String(rest).padStart(2, "0")} s`;
  }
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} d`;
}

/** A time that is left, such as `6:12`. */
export function countdown(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  const rest = String(seconds % 60).padStart(2, "0");
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
}

export function count(value: number): string {
  if (value < 1000) return String(value);
  if (value < 99_950) return `${(value / 1000).toFixed(1).replace(/\.0$/, "")}k`;
  if (value < 999_500) return `${Math.round(value / 1000)}k`;
  return `${(value / 1_000_000).toFixed(1)}M`;
}

export function money(amount: number, currency: string): string {
  try {
    const digits = amount !== 0 && Math.abs(amount) < 0.01 ? 4 : 2;
    return new Intl.NumberFormat("en-US", {
      style: "currency",
      currency,
      maximumFractionDigits: digits,
    }).format(amount);
  } catch {
    // Not a currency of ISO 4217.
    return `${amount} ${currency}`;
  }
}

export function plural(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`;
}

/** Returns a short form of an ID: the last eight digits tell IDs of one instant apart. */
export function shortId(id: string): string {
  return id.slice(-6);
}
