import { describe, expect, it } from "vitest";
import {
  briefReason,
  callerName,
  count,
  countdown,
  countText,
  dayAndTime,
  duration,
  localTimes,
  longTime,
  money,
  plural,
  sameDay,
  shortTime,
} from "./format";

const ZONE = "Europe/Prague";
const NOW = Date.parse("2026-11-19T07:12:00Z");

it("number_that_was_cut_says_so", () => {
  expect(countText({ count: 50, more: false })).toBe("50");
  expect(countText({ count: 50, more: true })).toBe("50+");
});

describe("shortTime", () => {
  it.each([
    ["2026-11-19T07:11:30Z", "08:11"],
    ["2026-11-18T08:00:00Z", "Wed"],
    ["2026-11-20T08:00:00Z", "Fri"],
    ["2026-11-12T08:00:00Z", "12 Nov"],
    ["2025-11-12T08:00:00Z", "12 Nov 2025"],
  ])("%s_is_%s", (at, text) => {
    expect(shortTime(at, NOW, ZONE)).toBe(text);
  });

  it("invalid_instant_throws_no_error", () => {
    expect(shortTime("soon", NOW, ZONE)).toBe("an unknown time");
  });

  it("day_is_that_of_the_reader", () => {
    // 00:30 in Prague is still the day before in UTC.
    expect(shortTime("2026-11-18T23:30:00Z", NOW, ZONE)).toBe("00:30");
    expect(sameDay("2026-11-18T23:30:00Z", "2026-11-19T07:00:00Z", ZONE)).toBe(true);
    expect(sameDay("2026-11-18T23:30:00Z", "2026-11-19T07:00:00Z", "UTC")).toBe(false);
  });
});

describe("dayAndTime", () => {
  it("other_day_has_its_time", () => {
    expect(dayAndTime("2026-11-18T08:00:00Z", NOW, ZONE)).toBe("Wed 09:00");
    expect(dayAndTime("2026-11-19T08:00:00Z", NOW, ZONE)).toBe("09:00");
  });
});

describe("briefReason", () => {
  it("words_of_every_failure_are_left_out", () => {
    expect(briefReason("the turn failed: the agent ended")).toBe("the agent ended");
    expect(briefReason("The turn failed: it ended")).toBe("it ended");
    expect(briefReason("the system was down")).toBe("the system was down");
    expect(briefReason(null)).toBeNull();
  });
});

describe("localTimes", () => {
  it("instants_in_a_text_are_those_of_the_reader", () => {
    const text = "used up until 2026-11-20T00:00:00Z, since 2026-11-19T08:00:00.5Z";
    expect(localTimes(text, NOW, ZONE)).toBe("used up until Fri 01:00, since 09:00");
    expect(localTimes("until 24:00Z", NOW, ZONE)).toBe("until 24:00Z");
  });
});

describe("longTime", () => {
  it("zone_is_stated", () => {
    expect(longTime("2026-11-19T08:00:00Z", ZONE)).toMatch(/09:00:00, Europe\/Prague$/);
  });

  it("change_of_the_clock_keeps_the_instant", () => {
    expect(longTime("2026-03-29T00:59:59Z", ZONE)).toContain("01:59:59");
    expect(longTime("2026-03-29T01:00:00Z", ZONE)).toContain("03:00:00");
  });
});

describe("duration", () => {
  it.each([
    [-5, "under 1 s"],
    [8_000, "8 s"],
    [59_600, "1 min"],
    [64_000, "1 min 04 s"],
    [6_480_000, "1 h 48 min"],
    [3 * 86_400_000, "3 d"],
  ])("%i_ms_are_%s", (ms, text) => {
    expect(duration(ms)).toBe(text);
  });
});

describe("countdown", () => {
  it.each([
    [372_000, "6:12"],
    [371_001, "6:12"],
    [-1, "0:00"],
    [3_725_000, "1:02:05"],
  ])("%i_ms_are_%s", (ms, text) => {
    expect(countdown(ms)).toBe(text);
  });
});

describe("count", () => {
  it.each([
    [999, "999"],
    [1_100, "1.1k"],
    [18_240, "18.2k"],
    [82_000, "82k"],
    [412_000, "412k"],
    [1_250_000, "1.3M"],
  ])("%i_is_%s", (value, text) => {
    expect(count(value)).toBe(text);
  });
});

describe("money", () => {
  it("small_amount_is_not_shown_as_nothing", () => {
    expect(money(0.0042, "USD")).toBe("$0.0042");
    expect(money(0.09, "USD")).toBe("$0.09");
  });

  it("unit_of_an_agent_that_is_no_currency_stays", () => {
    expect(money(3, "credits")).toBe("3 credits");
  });
});

describe("callerName", () => {
  it("caller_over_socket_is_shown_as_person", () => {
    expect([callerName("socket"), callerName("laptop")]).toEqual(["a person at the server", "laptop"]);
    expect(callerName("signed in from this machine")).toBe("a person at the server");
  });
});

describe("plural", () => {
  it("one_has_no_plural", () => {
    expect([plural(1, "tool"), plural(6, "tool"), plural(0, "tool")]).toEqual([
      "1 tool",
      "6 tools",
      "0 tools",
    ]);
  });
});
