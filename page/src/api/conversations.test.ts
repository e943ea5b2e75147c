import { describe, expect, it, vi } from "vitest";
import { type Goals, merged, withoutGoals } from "./conversations";
import type { SessionItem } from "./types";

const session = (id: string, updated_at = "2026-11-29T08:00:00Z") => ({ id, updated_at }) as SessionItem;
const goals = (ids: string[], next: string | null = null): Goals => ({
  items: ids.map((id) => ({ id })),
  next,
});
const ids = (sessions: SessionItem[]) => sessions.map(({ id }) => id);

describe("withoutGoals", () => {
  it("sessions_of_goals_are_left_out_and_teams_without_one_stay", async () => {
    const read = async () => goals(["ses_03", "ses_01"]);
    const found = await withoutGoals(
      ["ses_03", "ses_02", "ses_01"].map((id) => session(id)),
      read,
      new Map(),
    );
    expect(ids(found)).toEqual(["ses_02"]);
  });

  it("goals_are_read_only_for_a_session_that_is_new", async () => {
    const read = vi.fn(async () => goals(["ses_01"]));
    const known = new Map<string, boolean>();
    expect(await withoutGoals([], read, known)).toEqual([]);
    expect(read).toHaveBeenCalledTimes(0);
    const both = [session("ses_02"), session("ses_01")];
    await withoutGoals(both, read, known);
    expect(ids(await withoutGoals(both, read, known))).toEqual(["ses_02"]);
    expect(read).toHaveBeenCalledTimes(1);
    await withoutGoals([session("ses_03"), ...both], read, known);
    expect(read).toHaveBeenCalledTimes(2);
  });

  it("session_before_the_first_page_of_goals_counts_as_one_of_a_goal", async () => {
    const older = [session("ses_05"), session("ses_01")];
    expect(
      ids(await withoutGoals(older, async () => goals(["ses_06", "ses_04"], "ses_04"), new Map())),
    ).toEqual(["ses_05"]);
    expect(ids(await withoutGoals(older, async () => goals(["ses_06", "ses_04"]), new Map()))).toEqual([
      "ses_05",
      "ses_01",
    ]);
  });
});

describe("merged", () => {
  it("latest_change_comes_first", () => {
    const one = [session("ses_01", "2026-11-29T10:00:00Z"), session("ses_02", "2026-11-29T08:00:00Z")];
    const other = [session("ses_03", "2026-11-29T09:00:00Z")];
    expect(ids(merged(one, other))).toEqual(["ses_01", "ses_03", "ses_02"]);
    expect(merged(one, [])).toBe(one);
  });
});
