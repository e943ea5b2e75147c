import { expect, test } from "vitest";
import { unreadField } from "./unread-field";

test("field_that_the_browser_cannot_read_is_found", () => {
  const field = (name: string, badInput: boolean) => ({ name, validity: { badInput } });
  const form = (...elements: object[]) => ({ elements }) as unknown as HTMLFormElement;
  expect(unreadField(null)).toBeNull();
  expect(unreadField(form({}, field("cost", false)))).toBeNull();
  expect(unreadField(form({}, field("cost", false), field("until", true)))).toBe("until");
});
