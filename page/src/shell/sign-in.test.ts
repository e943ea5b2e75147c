import { describe, expect, it, vi } from "vitest";
import { queryClient } from "../api/queries";
import type { Whoami } from "../api/types";
import { codeOf, hasSameRights, resume } from "./SignIn";

vi.mock("../live/client", () => ({ reconnect: vi.fn() }));

describe("codeOf", () => {
  it("link_and_code_give_the_same_code", () => {
    expect(codeOf("  http://127.0.0.1:7347/sign-in#mal_abc\n")).toBe("mal_abc");
    expect(codeOf("mal_abc")).toBe("mal_abc");
  });
});

describe("hasSameRights", () => {
  const caller = (tenant: string, role: string) => ({ tenant: { id: tenant }, role, token: null }) as Whoami;

  it("another_tenant_or_role_is_another_caller", () => {
    const before = caller("ten_a", "admin");
    expect(hasSameRights(before, { ...caller("ten_a", "admin"), permissions: [] })).toBe(true);
    expect(hasSameRights(before, caller("ten_b", "admin"))).toBe(false);
    expect(hasSameRights(before, caller("ten_a", "viewer"))).toBe(false);
    expect(hasSameRights(undefined, before)).toBe(true);
  });
});

describe("resume", () => {
  it("reads_after_a_sign_in_wait_for_no_read_from_before_it", async () => {
    vi.stubGlobal("fetch", async () => new Response("{}"));
    const restart = vi.spyOn(queryClient, "restartQueries");
    await resume();
    expect(restart).toHaveBeenCalledOnce();
    vi.unstubAllGlobals();
  });
});
