import { expect, test } from "vitest";
import { fileName } from "./save";

test.each([
  ["A guide to tea", "A guide to tea.md"],
  ["Žluťoučký kůň, 2. část", "Žluťoučký kůň- 2. část.md"],
  ["../etc/passwd", "..-etc-passwd.md"],
  ['a<b>:"c"|?*', "a-b-c-.md"],
])("file_name_of_%j_has_only_letters_that_every_system_accepts", (title, name) => {
  expect(fileName(title, "md")).toBe(name);
});
