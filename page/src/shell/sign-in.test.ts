import { describe, expect, it } from "vitest";
import { codeOf } from "./SignIn";

describe("codeOf", () => {
  it("link_and_code_give_the_same_code", () => {
    expect(codeOf("  http://127.0.0.1:7347/sign-in#mal_abc\n")).toBe("mal_abc");
    expect(codeOf("mal_abc")).toBe("mal_abc");
  });
});
