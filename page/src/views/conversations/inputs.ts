/** The open inputs of a conversation: those that wait, and the turns of its seats. All functions are pure. */
import type { Goal, OpenRun, SessionView } from "../../api/types";
import { clock } from "../../kit/format";

type Input = Pick<OpenRun, "status" | "blocked_on" | "seat_id">;

/** `true` if a worker has the input. One whose file waits in a folder has not begun. */
const isTurn = ({ status, blocked_on: blocked }: Input): boolean =>
  status === "running" || (status === "delivered" && blocked?.for !== "runtime");

/** Returns the inputs that wait. Several seats may have a turn at the same time. */
export const waitingOf = <T extends Input>(inputs: readonly T[]): T[] =>
  inputs.filter((input) => !isTurn(input));

/** Returns the turn of a seat; undefined if it has none. */
export const turnOf = <T extends Input>(inputs: readonly T[], seat: string | undefined): T | undefined =>
  inputs.find((input) => input.seat_id === seat && isTurn(input));

/** The key of the task for which a seat of a goal has an input; null for any other input, and until the goal is read. */
export function taskOfInput(
  { origin, seat_id: seat }: Pick<OpenRun, "origin" | "seat_id">,
  goal: { seats: readonly Pick<Goal["seats"][number], "id" | "task">[] } | null,
): string | null {
  if (origin !== "task") return null;
  return goal?.seats.find(({ id }) => id === seat)?.task ?? null;
}

/** The words of an empty message field. */
export function placeholder(
  { state }: Pick<SessionView, "state">,
  receiver: string,
  isBusy: boolean,
  hasGoal: boolean,
): string {
  const text = `Message ${receiver}`;
  if (state === "draft")
    return `${text}. It waits until the ${hasGoal ? "goal is started" : "conversation is enabled"}.`;
  if (state === "paused") return `${text}. It waits until resumed.`;
  return isBusy ? `${text}. It is read when this turn ends.` : text;
}

/** Says why an input waits, unless it is the turn above it. */
export function waitReason(input: Pick<OpenRun, "blocked_on" | "not_before">): string {
  switch (input.blocked_on?.for) {
    case "budget":
      return "a budget is used up";
    case "session":
      return "waits until resumed";
    case "backoff":
      return input.not_before ? `tries again at ${clock(input.not_before)}` : "tries again soon";
    case "directory":
      return "waits for a server with its directory";
    case "worker":
      return "waits for a free place";
    case "instance":
      return `waits for ${input.blocked_on.name}, which is offline`;
    case "delivery":
      return `waits for its file on ${input.blocked_on.name}`;
    case "runtime":
      return `file waits at ${input.blocked_on.name}`;
    default:
      return "";
  }
}
