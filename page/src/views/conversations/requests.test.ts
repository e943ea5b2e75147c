import { describe, expect, it, test } from "vitest";
import type { Approval, OpenRun, Question, Seat } from "../../api/types";
import { isQuestion, nameOfAsker, requestsOf } from "./requests";

const approval = (id: string, deadline_at: string, more: Partial<Approval> = {}) =>
  ({ id, deadline_at, session_id: "ses_1", run_id: "run_1", tool_call: "1", ...more }) as Approval;
const question = (id: string, deadline_at: string, more: Partial<Question> = {}) =>
  ({ id, deadline_at, session_id: "ses_1", seat_id: "s2", text: "Which one?", ...more }) as Question;

test("requests_of_the_conversation_stand_by_their_deadlines", () => {
  const requests = requestsOf(
    "ses_1",
    [
      approval("apr_late", "2026-11-29T14:00:00Z"),
      approval("apr_other", "2026-11-29T09:00:00Z", { session_id: "ses_2" }),
    ],
    [
      question("que_soon", "2026-11-29T10:00:00Z"),
      question("que_other", "2026-11-29T09:00:00Z", { session_id: "ses_2" }),
    ],
  );
  expect(requests.map(({ id }) => id)).toEqual(["que_soon", "apr_late"]);
  expect(requests.map(isQuestion)).toEqual([true, false]);
});

describe("nameOfAsker", () => {
  const seats = [
    { id: "s1", name: "planner" },
    { id: "s2", name: "worker-1" },
  ] as Seat[];
  const team = { seats, open_runs: [{ id: "run_1", seat_id: "s1" }] as OpenRun[] };
  const automations = [{ id: "aut_1", name: "tidy" }];

  it("automation_comes_first", () => {
    const asks = approval("apr_1", "", { automation_id: "aut_1" });
    expect(nameOfAsker(asks, team, automations, "claude")).toBe("tidy");
  });

  it("one_of_several_seats_is_named", () => {
    expect(nameOfAsker(approval("apr_1", ""), team, automations, "claude")).toBe("planner");
    expect(nameOfAsker(question("que_1", ""), team, automations, "claude")).toBe("worker-1");
  });

  it("only_seat_has_the_name_of_its_agent", () => {
    const alone = { ...team, seats: seats.slice(0, 1) };
    expect(nameOfAsker(approval("apr_1", ""), alone, automations, "claude")).toBe("claude");
  });

  it("request_whose_run_is_over_has_the_name_of_the_agent", () => {
    const asks = approval("apr_1", "", { run_id: "run_2" });
    expect(nameOfAsker(asks, team, automations, "claude")).toBe("claude");
  });
});
