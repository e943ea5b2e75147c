/** The memory of automations and sessions, as the page reads, compares and writes it. */
import type { MemoryEntry, MemoryEntryRequest } from "../../api/types";

/** An automation or a session that owns memory entries. */
export interface MemoryOwner {
  kind: "automation" | "session";
  id: string;
  /** The name in commands: that of the automation, or the ID of the session. */
  name: string;
}

export interface EntryForm {
  key: string;
  value: string;
  /** The trust in the value, as it was typed. */
  confidence: string;
  /** An instant in the zone of the browser, as its fields write it, such as `2026-11-30T09:00`; empty for never. */
  expires: string;
}

export type FormField = keyof EntryForm;

/** The longest value that is shown without a click. */
const FOLDED_LINES = 4;
const FOLDED_CHARS = 320;

export const memoryPath = (owner: MemoryOwner): string => `/${owner.kind}s/${owner.id}/memory`;

export const entryPath = (owner: MemoryOwner, key: string): string =>
  `${memoryPath(owner)}/${encodeURIComponent(key)}`;

/**
 * Returns why no address can name the entry of a key; null if one can. Browsers take a part of an address that is one or
 * two dots for a folder, so the request would reach another resource.
 */
export const addressProblem = (key: string): string | null =>
  /^\.\.?$/.test(key) ? "A key of one or two dots has no address in the API" : null;

/** Quotes a word of a command if a shell would split or change it. */
export const shellWord = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

export const setCommand = (owner: MemoryOwner): string =>
  `matins memory set --${owner.kind} ${shellWord(owner.name)} KEY VALUE`;

/** Returns the beginning of a long value and the size of the whole; null if the value is short. */
export function foldedValue(value: string): { beginning: string; size: string } | null {
  const lines = value.split("\n");
  if (lines.length <= FOLDED_LINES && value.length <= FOLDED_CHARS) return null;
  const beginning = lines.slice(0, FOLDED_LINES).join("\n").slice(0, FOLDED_CHARS);
  const size =
    lines.length > FOLDED_LINES
      ? `${lines.length} lines`
      : `${value.length.toLocaleString("en-GB")} characters`;
  return { beginning, size };
}

/** Returns an instant as a field for a date and a time writes it, in the zone of the browser. */
export function localInput(at: string | null): string {
  if (at === null) return "";
  const then = new Date(at);
  const local = new Date(then.getTime() - then.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 16);
}

export function formOfEntry(entry: MemoryEntry | null): EntryForm {
  if (entry === null) return { key: "", value: "", confidence: "1", expires: "" };
  return {
    key: entry.key,
    value: entry.value,
    confidence: String(entry.confidence),
    expires: localInput(entry.expires_at),
  };
}

/** Returns the request that writes a form. An expiry that the person has not changed stays exact, to the second. */
export function requestOfForm(form: EntryForm, base: MemoryEntry | null): MemoryEntryRequest {
  const kept = base !== null && form.expires === localInput(base.expires_at);
  return {
    value: form.value,
    confidence: form.confidence.trim() === "" ? null : Number(form.confidence),
    expires_at: kept ? base.expires_at : form.expires === "" ? null : new Date(form.expires).toISOString(),
  };
}

/** Returns the request that writes the content of an entry again. */
export const requestOfEntry = (entry: MemoryEntry): MemoryEntryRequest => ({
  value: entry.value,
  confidence: entry.confidence,
  expires_at: entry.expires_at,
});

/** Whether two readings of a key have the same content, by the same author. */
export function isSameEntry(a: MemoryEntry | null, b: MemoryEntry | null): boolean {
  if (a === null || b === null) return a === b;
  return a.version === b.version && a.updated_at === b.updated_at && a.created_at === b.created_at;
}

/** Returns the fields of a form that differ from an entry. */
export function differingFields(form: EntryForm, entry: MemoryEntry): FormField[] {
  const other = formOfEntry(entry);
  const fields: FormField[] = ["value", "confidence", "expires"];
  return fields.filter((field) =>
    field === "confidence" ? Number(form.confidence) !== entry.confidence : form[field] !== other[field],
  );
}

/** Returns the field of the form that a problem of the API names; null for a field that the form does not have. */
export function formField(field: string | null | undefined): FormField | null {
  switch (field) {
    case "key":
    case "value":
    case "confidence":
      return field;
    case "expires_at":
      return "expires";
    default:
      return null;
  }
}
