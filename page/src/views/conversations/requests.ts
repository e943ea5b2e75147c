/** What agents of a conversation wait for: permissions and answers. All functions are pure. */
import type { Approval, Automation, Question, SessionView } from "../../api/types";

export type Request = Approval | Question;

export const isQuestion = (request: Request): request is Question => !("tool_call" in request);

/** Returns the requests of a conversation, the one that ends first before the others. */
export function requestsOf(
  session: string,
  approvals: readonly Approval[],
  questions: readonly Question[],
): Request[] {
  const own = [...approvals, ...questions].filter((request) => request.session_id === session);
  return own.sort((a, b) => a.deadline_at.localeCompare(b.deadline_at));
}

type Asked = Pick<SessionView, "seats" | "open_runs">;

/** The name of the one that asks: its automation, one of several seats, else the agent. */
export function nameOfAsker(
  request: Request,
  { seats, open_runs: runs }: Asked,
  automations: readonly Pick<Automation, "id" | "name">[],
  agent: string,
): string {
  const automation = automations.find(({ id }) => id === request.automation_id);
  if (automation) return automation.name;
  const seat = isQuestion(request) ? request.seat_id : runs.find(({ id }) => id === request.run_id)?.seat_id;
  return (seats.length > 1 && seats.find(({ id }) => id === seat)?.name) || agent;
}
