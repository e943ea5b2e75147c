import { expect, test } from "vitest";
import { FLAG, ticks } from "./axis";
import { place } from "./marks";

// Instants of the reader's clock, whatever the zone of the test.
const at = (day: number, hour: number, minute = 0) => new Date(2026, 10, day, hour, minute).getTime();
const scaleAround = (now: number, width: number) => ({ from: now - 86_400_000, to: now + 86_400_000, width });

test("an hour beside the flag keeps its name, which stands clear of the flag", () => {
  const now = at(19, 8, 12);
  const scale = scaleAround(now, 792);
  const six = ticks(scale, now).find((tick) => tick.at === at(19, 6));
  expect(six?.label).toBe("06:00");
  expect(six?.x).toBe(place(at(19, 6), scale));
  expect(six && six.labelX + 18).toBeLessThan(place(now, scale) - FLAG);
});

test("an hour below the flag has neither a line nor a name", () => {
  const now = at(19, 6, 30);
  expect(ticks(scaleAround(now, 792), now).map((tick) => tick.at)).not.toContain(at(19, 6));
});

test("each line has a name that lies inside the plot and near its line", () => {
  for (const width of [200, 360, 792, 1_600]) {
    for (let minute = 0; minute < 24 * 60; minute += 31) {
      const now = at(19, 0, minute);
      for (const tick of ticks(scaleAround(now, width), now)) {
        expect(tick.label).not.toBe("");
        expect(Math.abs(tick.labelX - tick.x)).toBeLessThanOrEqual(14);
        expect(tick.labelX).toBeGreaterThanOrEqual(18);
        expect(tick.labelX).toBeLessThanOrEqual(width - 18);
      }
    }
  }
});
