/** What asks in a request of the inbox: its name, and the line below it. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { get } from "../../api/client";
import { keys, useAutomations, useGoals } from "../../api/queries";
import type { Approval, RunView } from "../../api/types";
import { dayAndTime, longTime } from "../../kit/format";
import { visible } from "../../kit/visible";
import { addressOfGoal, addressOfRun, addressOfSession } from "../addresses";
import { nameOf } from "./names";

/** The common part of approvals and questions. */
type Asked = Pick<Approval, "automation_id" | "session_id" | "run_id" | "created_at">;

/** Requests without an automation may be those of a goal. */
const useGoalsOf = ({ automation_id }: Asked) => useGoals(automation_id === null).data?.items;

export function useNameOf(asked: Asked): string {
  const automations = useAutomations(asked.automation_id !== null).data?.items;
  return nameOf(asked, automations, useGoalsOf(asked));
}

/** Leads to the goal, to the conversation and to the run of a request. */
export function AskedIn({ asked }: { asked: Asked }) {
  const { session_id: session, run_id: id, created_at: at } = asked;
  const goals = useGoalsOf(asked);
  const run = useQuery({
    queryKey: [...keys.runs, "one", id],
    queryFn: ({ signal }) => get<RunView>(`/runs/${id}`, {}, signal),
  }).data;
  // The list of goals lacks the oldest ones.
  const isOfGoal = run?.source === "task" || goals?.some((goal) => goal.id === session);
  const title = run?.session_title && visible(run.session_title);
  return (
    <p>
      {isOfGoal && (
        <>
          <Link href={addressOfGoal(session)}>{title || "Goal"}</Link>,{" "}
        </>
      )}
      <Link href={`${addressOfSession(session)}?run=${id}`}>
        {isOfGoal ? "conversation" : title || "Conversation"}
      </Link>
      , <Link href={addressOfRun(id)}>run</Link> of {run?.agent_name ? visible(run.agent_name) : "the agent"}
      {run?.seat_name && ` as ${visible(run.seat_name)}`},{" "}
      <time dateTime={at} title={longTime(at)}>
        {dayAndTime(at)}
      </time>
    </p>
  );
}
