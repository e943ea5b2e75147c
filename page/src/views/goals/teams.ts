/** The teams that ship with Matins. A test compares them with the files of the server. */

export interface TeamSeats {
  role: string;
  count: number;
  /** The agent of the seats. If absent, they have the agent of the goal. */
  agent?: string;
}

export interface Team {
  name: string;
  about: string;
  seats: TeamSeats[];
}

const planner: TeamSeats = { role: "planner", count: 1 };

export const TEAMS: readonly Team[] = [
  {
    name: "research",
    about: "Answers questions, each with its sources. Publishes nothing by itself.",
    seats: [planner, { role: "worker", count: 3 }, { role: "judge", count: 1 }],
  },
  {
    name: "code",
    about: "Changes code. Researchers read, one worker writes, and a judge reviews each task.",
    seats: [
      planner,
      { role: "researcher", count: 2 },
      { role: "worker", count: 1 },
      { role: "judge", count: 1 },
    ],
  },
  {
    name: "inbox",
    about: "Works through many small items in batches, without a judge.",
    seats: [planner, { role: "worker", count: 4 }],
  },
  {
    name: "demo",
    about: "Shows a goal with the demonstration agent, without a model and without a network.",
    seats: [
      { ...planner, agent: "demo" },
      { role: "worker", count: 2, agent: "demo" },
      { role: "judge", count: 1, agent: "demo" },
    ],
  },
];

/** Says who sits where, such as `worker ×3`. */
export function seatsText({ role, count, agent }: TeamSeats): string {
  return `${role}${count > 1 ? ` ×${count}` : ""}${agent === undefined ? "" : ` (agent ${agent})`}`;
}

/** `true` if the seats of a team name their agents, so that the goal needs none. */
export const bringsAgents = (team: Team | undefined): boolean =>
  team?.seats.every((seats) => seats.agent !== undefined) ?? false;
