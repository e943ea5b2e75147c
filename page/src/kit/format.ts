import { visible } from "./visible";

/** Formats times, durations and amounts. All instants come from the server; the browser computes no schedule. */

const ZONE_LASTS_MS = 60_000;
let readerZoneNow = { zone: "", until: 0 };

/** The zone of the reader, such as `Europe/Prague`. A change of it is noticed within a minute. */
export function readerZone(): string {
  const now = Date.now();
  if (now >= readerZoneNow.until || now < readerZoneNow.until - ZONE_LASTS_MS) {
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    readerZoneNow = { zone, until: now + ZONE_LASTS_MS };
  }
  return readerZoneNow.zone;
}

const TIME = { hour: "2-digit", minute: "2-digit" } as const;
const FORMS = {
  // Swedes write dates as ISO 8601 does.
  isoDay: { locale: "sv-SE", options: {} },
  time: { locale: "en-GB", options: TIME },
  timeWithSeconds: { locale: "en-GB", options: { ...TIME, second: "2-digit" } },
  weekday: { locale: "en-GB", options: { weekday: "short" } },
  date: { locale: "en-GB", options: { day: "numeric", month: "short" } },
  dateWithYear: { locale: "en-GB", options: { day: "numeric", month: "short", year: "numeric" } },
  dateWithWeekday: { locale: "en-GB", options: { weekday: "short", day: "numeric", month: "short" } },
  whole: {
    locale: "en-GB",
    options: {
      weekday: "short",
      day: "numeric",
      month: "short",
      year: "numeric",
      ...TIME,
      second: "2-digit",
    },
  },
} satisfies Record<string, { locale: string; options: Intl.DateTimeFormatOptions }>;

/** The formatters in use. To make one takes a hundred times as long as to format with it. */
const formatters = new Map<string, Intl.DateTimeFormat>();

function format(at: string | number, form: keyof typeof FORMS, zone: string): string {
  const date = new Date(at);
  // A formatter would throw, and with it the whole view.
  if (Number.isNaN(date.getTime())) return "an unknown time";
  const key = `${form} ${zone}`;
  let formatter = formatters.get(key);
  if (formatter === undefined) {
    const { locale, options } = FORMS[form];
    formatter = new Intl.DateTimeFormat(locale, { ...options, timeZone: zone });
    formatters.set(key, formatter);
  }
  return formatter.format(date);
}

export const clock = (at: string, zone = readerZone()): string => format(at, "time", zone);

export const clockWithSeconds = (at: number, zone = readerZone()): string =>
  format(at, "timeWithSeconds", zone);

/** Returns the time of an instant today, the weekday within six days, and else the date. */
export function shortTime(at: string, now = Date.now(), zone = readerZone()): string {
  const [day, today] = [format(at, "isoDay", zone), format(now, "isoDay", zone)];
  if (day === today) return clock(at, zone);
  if (Math.abs(now - Date.parse(at)) / 86_400_000 < 6) return format(at, "weekday", zone);
  return format(at, day.slice(0, 4) === today.slice(0, 4) ? "date" : "dateWithYear", zone);
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

export const longTime = (at: string, zone = readerZone()): string => `${format(at, "whole", zone)}, ${zone}`;

export const dayHeading = (at: string, zone = readerZone()): string => format(at, "dateWithWeekday", zone);

export const sameDay = (a: string, b: string, zone = readerZone()): boolean =>
  format(a, "isoDay", zone) === format(b, "isoDay", zone);

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

/** A number of items, such as `500+` if there are more. */
export const countText = ({ count, more }: { count: number; more: boolean }): string =>
  `${count}${more ? "+" : ""}`;

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

/** The names of callers that have none of their own: over the private socket, and in a browser that a command signed in. */
const AT_THE_SERVER = ["socket", "signed in from this machine"];

/** Returns the name of a caller of the API for a text. */
export function callerName(name: string): string {
  return AT_THE_SERVER.includes(name) ? "a person at the server" : visible(name);
}

/** Returns the name of a caller of the API for the beginning of a sentence. */
export function callerNameAtStart(name: string): string {
  return AT_THE_SERVER.includes(name) ? "A person at the server" : visible(name);
}

/** Returns a short form of an ID: the last eight digits tell IDs of one instant apart. */
export function shortId(id: string): string {
  return id.slice(-6);
}
