import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { EMPTY } from "./form";
import { bringsAgents, seatsText, TEAMS } from "./teams";

const folder = `${import.meta.dirname}/../../../../crates/config/src/team/shipped`;
const names = readdirSync(folder).map((file) => file.replace(/\.toml$/, ""));

/** Returns the seats of a team's file, as the page describes them. */
function seatsOf(name: string): object[] {
  const [, ...seats] = readFileSync(`${folder}/${name}.toml`, "utf8").split("[[seats]]");
  return seats.map((text) => {
    const value = (key: string) => new RegExp(`^${key} = "?([^"\\n]+)"?$`, "m").exec(text)?.[1];
    const [role, agent] = [value("role"), value("agent")];
    return {
      role,
      count: Number(value("count") ?? (role === "worker" ? 2 : 1)),
      ...(agent !== undefined && { agent }),
    };
  });
}

test("page_names_all_teams_that_ship", () => {
  expect(TEAMS.map((team) => team.name).sort()).toEqual([...names].sort());
  expect(TEAMS.some((team) => team.name === EMPTY.team)).toBe(true);
});

test.each(names)("seats_of_%s_are_those_of_its_file", (name) => {
  expect(TEAMS.find((team) => team.name === name)?.seats).toEqual(seatsOf(name));
});

test("seats_are_counted_and_name_their_agent", () => {
  expect(seatsText({ role: "worker", count: 3 })).toBe("worker ×3");
  expect(seatsText({ role: "judge", count: 1, agent: "demo" })).toBe("judge (agent demo)");
});

test("only_demo_brings_its_agents", () => {
  expect(TEAMS.filter(bringsAgents).map((team) => team.name)).toEqual(["demo"]);
  expect(bringsAgents(undefined)).toBe(false);
});
