import { expect, test } from "vitest";
import { addressOfArtifacts } from "./addresses";

test("name_of_an_artifact_stays_one_value_of_its_address", () => {
  expect(addressOfArtifacts("ses_1")).toBe("/conversations/ses_1/artifacts");
  const address = addressOfArtifacts("ses_1", "a/b.md?x=1&name=c#d");
  expect(address).toMatch(/^\/conversations\/ses_1\/artifacts\?name=/);
  expect(new URL(address, "http://page").searchParams.getAll("name")).toEqual(["a/b.md?x=1&name=c#d"]);
  expect(new URL(address, "http://page").hash).toBe("");
});
