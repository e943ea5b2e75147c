import { expect, test } from "vitest";
import type { AutomationView } from "../../api/types";
import { quietHoursText } from "./policies";

const textOf = (specs: unknown[], hours = ["22:00-07:00", "12:00-13:00"]): string =>
  quietHoursText({
    policies: { quiet_hours: hours },
    triggers: [{ kind: "manual" }, ...specs].map((spec) => ({ spec })),
  } as unknown as AutomationView);

test("quiet hours have the zone of the schedule, and UTC for a webhook", () => {
  const cron = { kind: "cron", expression: "0 9 * * *", zone: "Asia/Tokyo" };
  const webhook = { kind: "webhook" };
  const hours = "22:00-07:00, 12:00-13:00";
  expect(textOf([cron, { ...cron, expression: "0 8 * * *" }])).toBe(`${hours} (Asia/Tokyo)`);
  expect(textOf([webhook, webhook])).toBe(`${hours} (UTC for webhooks)`);
  expect(textOf([webhook, cron])).toBe(`${hours} (Asia/Tokyo, UTC for webhooks)`);
  expect(textOf([])).toBe(`${hours} (not for runs on demand)`);
  expect(textOf([cron], [])).toBe("none");
});
