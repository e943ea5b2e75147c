import { expect, test } from "vitest";
import { acceptable } from "./last-look";

const now = Date.parse("2026-11-19T08:12:00Z");

test("an instant of the last days is kept", () => {
  expect(acceptable("2026-11-18T22:41:00.000Z", now)).toBe("2026-11-18T22:41:00.000Z");
});

test("nonsense, nothing and the future count as no look", () => {
  for (const text of [null, "", "yesterday", "2026-11-19T08:12:01Z"]) {
    expect(acceptable(text, now)).toBeNull();
  }
});

test("a look of long ago counts as one that the server accepts", () => {
  expect(acceptable("2020-01-01T00:00:00Z", now)).toBe("2026-10-20T08:12:00.000Z");
});
