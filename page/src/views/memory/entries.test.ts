import { describe, expect, it } from "vitest";
import type { MemoryEntry } from "../../api/types";
import {
  addressProblem,
  differingFields,
  entryPath,
  foldedValue,
  formField,
  formOfEntry,
  isSameEntry,
  localInput,
  type MemoryOwner,
  requestOfForm,
  setCommand,
} from "./entries";

const BUILD: MemoryOwner = { kind: "automation", id: "aut_1", name: "build" };

const ENTRY: MemoryEntry = {
  automation_id: "aut_1",
  session_id: null,
  key: "last failure",
  value: "red since Monday",
  confidence: 0.8,
  version: 3,
  author: "claude",
  run_id: "run_1",
  unconfirmed: false,
  expires_at: "2026-11-30T08:00:41Z",
  created_at: "2026-11-19T07:00:00Z",
  updated_at: "2026-11-19T08:00:00Z",
};

describe("entryPath", () => {
  it("hostile_key_stays_one_part_of_the_path", () => {
    expect(entryPath(BUILD, "a/../b?c#d e")).toBe("/automations/aut_1/memory/a%2F..%2Fb%3Fc%23d%20e");
  });

  it("key_of_dots_is_refused_because_it_would_name_another_resource", () => {
    const at = (key: string) => new URL(`http://host/api/v1${entryPath(BUILD, key)}`).pathname;
    expect(at("..")).toBe("/api/v1/automations/aut_1/");
    expect(addressProblem("..")).not.toBeNull();
    expect(addressProblem(".")).not.toBeNull();
    for (const key of ["...", "a.", "..a", ". ."]) {
      expect(addressProblem(key), key).toBeNull();
      expect(at(key), key).toMatch(/\/memory\/.+/);
    }
  });
});

describe("setCommand", () => {
  it("name_with_spaces_is_quoted", () => {
    expect(setCommand(BUILD)).toBe("matins memory set --automation build KEY VALUE");
    expect(setCommand({ ...BUILD, name: "Bob's mail" })).toContain("--automation 'Bob'\\''s mail' KEY");
  });
});

describe("foldedValue", () => {
  it("short_value_is_whole", () => {
    expect(foldedValue("one\ntwo\nthree\nfour")).toBeNull();
    expect(foldedValue("")).toBeNull();
  });

  it("many_lines_are_counted", () => {
    expect(foldedValue("a\nb\nc\nd\ne")).toEqual({ beginning: "a\nb\nc\nd", size: "5 lines" });
  });

  it("one_long_line_is_cut", () => {
    const folded = foldedValue("x".repeat(16_384));
    expect(folded?.beginning).toHaveLength(320);
    expect(folded?.size).toBe("16,384 characters");
  });
});

describe("requestOfForm", () => {
  it("unchanged_expiry_keeps_its_seconds", () => {
    expect(requestOfForm(formOfEntry(ENTRY), ENTRY)).toEqual({
      value: "red since Monday",
      confidence: 0.8,
      expires_at: "2026-11-30T08:00:41Z",
    });
  });

  it("changed_expiry_is_an_instant_of_the_browsers_zone", () => {
    const at = localInput("2027-01-04T09:30:00Z");
    const form = { ...formOfEntry(ENTRY), expires: at };
    expect(requestOfForm(form, ENTRY).expires_at).toBe("2027-01-04T09:30:00.000Z");
    expect(requestOfForm({ ...form, expires: "" }, ENTRY).expires_at).toBeNull();
  });

  it("empty_confidence_is_left_to_the_server", () => {
    expect(requestOfForm({ ...formOfEntry(null), confidence: " " }, null).confidence).toBeNull();
  });
});

describe("isSameEntry", () => {
  it("change_deletion_and_new_expiry_are_seen", () => {
    expect(isSameEntry(ENTRY, { ...ENTRY })).toBe(true);
    expect(isSameEntry(null, null)).toBe(true);
    expect(isSameEntry(ENTRY, null)).toBe(false);
    expect(isSameEntry(ENTRY, { ...ENTRY, version: 4 })).toBe(false);
    // A write with the same value keeps the version, and can change the author and the expiry.
    expect(isSameEntry(ENTRY, { ...ENTRY, updated_at: "2026-11-19T08:00:01Z" })).toBe(false);
    // An entry that was deleted and written again begins with version 1.
    expect(isSameEntry(ENTRY, { ...ENTRY, created_at: "2026-11-19T07:30:00Z" })).toBe(false);
  });
});

describe("differingFields", () => {
  it("only_fields_that_differ_are_named", () => {
    expect(differingFields(formOfEntry(ENTRY), ENTRY)).toEqual([]);
    expect(differingFields({ ...formOfEntry(ENTRY), confidence: "0.80" }, ENTRY)).toEqual([]);
    expect(differingFields({ ...formOfEntry(ENTRY), value: "green", expires: "" }, ENTRY)).toEqual([
      "value",
      "expires",
    ]);
  });
});

describe("formField", () => {
  it("names_of_the_api_find_their_fields", () => {
    expect(formField("expires_at")).toBe("expires");
    expect(formField("value")).toBe("value");
    expect(formField("If-Match")).toBeNull();
    expect(formField(undefined)).toBeNull();
  });
});
