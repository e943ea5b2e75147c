import { describe, expect, it } from "vitest";
import type { Artifact } from "../../api/types";
import { baseType, hostOfLink, sizeText, versionsOf } from "./versions";

const artifact = (name: string, version: number, minute: number, session = "ses_1"): Artifact => ({
  id: `art_${name}${version}${session}`,
  tenant_id: "ten_1",
  session_id: session,
  run_id: "run_1",
  name,
  version,
  media_type: "text/plain",
  size: 3,
  sha256: "0".repeat(64),
  uri: null,
  instance_id: "ins_1",
  created_at: `2026-11-19T08:${String(minute).padStart(2, "0")}:00Z`,
});

describe("versionsOf", () => {
  it("older_versions_are_folded_under_the_newest", () => {
    const groups = versionsOf([
      artifact("a", 1, 0),
      artifact("b", 1, 1),
      artifact("a", 3, 9),
      artifact("a", 2, 5),
    ]);
    expect(groups.map((group) => [group.newest.name, group.newest.version])).toEqual([
      ["a", 3],
      ["b", 1],
    ]);
    expect(groups[0]?.older.map((each) => each.version)).toEqual([2, 1]);
  });

  it("versions_of_one_instant_are_ordered_by_number", () => {
    expect(versionsOf([artifact("a", 1, 0), artifact("a", 2, 0)])[0]?.newest.version).toBe(2);
  });

  it("name_chooses_the_versions_of_one_artifact", () => {
    const all = [artifact("a.md", 1, 0), artifact("a.md.bak", 1, 1), artifact("a.md", 2, 2)];
    const groups = versionsOf(all, "a.md");
    expect(groups.map(({ newest, older }) => [newest.version, older.length])).toEqual([[2, 1]]);
    expect(groups[0]?.newest.name).toBe("a.md");
    expect(versionsOf(all, "a")).toEqual([]);
  });

  it("one_name_in_two_sessions_is_two_artifacts", () => {
    expect(versionsOf([artifact("a", 1, 0, "ses_1"), artifact("a", 1, 1, "ses_2")])).toHaveLength(2);
  });
});

describe("sizeText", () => {
  it.each([
    [0, "0 bytes"],
    [1, "1 byte"],
    [999, "999 bytes"],
    [1_000, "1 kB"],
    [12_430, "12.4 kB"],
    [999_960, "1 MB"],
    [104_857_600, "104.9 MB"],
    [10_737_418_240, "10.7 GB"],
  ])("%i_bytes_are_%s", (bytes, text) => expect(sizeText(bytes)).toBe(text));
});

describe("baseType", () => {
  it("parameters_are_left_out", () => {
    expect(baseType("text/plain; charset=utf-8")).toBe("text/plain");
    expect(baseType("image/png")).toBe("image/png");
  });
});

describe("hostOfLink", () => {
  it("the_true_host_is_named", () => {
    expect(hostOfLink("https://bank.example@evil.example/login")).toBe("evil.example");
    expect(hostOfLink("http://localhost:8080/x")).toBe("localhost:8080");
    // Letters that look like others are written as the resolver reads them.
    expect(hostOfLink("https://аpple.com/")).toBe("xn--pple-43d.com");
  });

  it("other_schemes_are_no_links", () => {
    for (const address of [
      "javascript:alert(1)",
      "data:text/html,x",
      "mailto:a@b",
      "ssh://host",
      "report.md",
      "",
    ])
      expect(hostOfLink(address), address).toBeNull();
  });
});
