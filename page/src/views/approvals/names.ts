/** The name of what asks, in the inbox. */
import type { Approval, Automation, GoalSummary } from "../../api/types";
import { visible } from "../../kit/visible";
import { titleOfGoal } from "../goals/words";

type Asked = Pick<Approval, "automation_id" | "session_id">;

/** Returns the name of the automation, else the title of the goal. Both are searched in lists, which may lack them. */
export function nameOf(
  { automation_id, session_id }: Asked,
  automations: readonly Pick<Automation, "id" | "name">[] = [],
  goals: readonly Pick<GoalSummary, "id" | "title" | "goal">[] = [],
): string {
  const automation = automations.find(({ id }) => id === automation_id);
  if (automation !== undefined) return visible(automation.name);
  const goal = goals.find(({ id }) => id === session_id);
  return goal === undefined ? "A conversation" : titleOfGoal(goal);
}
