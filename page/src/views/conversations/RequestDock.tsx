import { ChevronLeft, ChevronRight } from "lucide-react";
import { useState } from "react";
import { Button, IconButton } from "../../kit/Button";
import { ApprovalRequest } from "./ApprovalRequest";
import css from "./conversation.module.css";
import { QuestionRequest } from "./QuestionRequest";
import { isQuestion, type Request } from "./requests";

export interface RequestDockProps {
  requests: Request[];
  /** Names the automation, the seat or the agent that asks. */
  nameOf(request: Request): string;
  agent: string;
  disabled: string | null;
}

/**
 * The permissions and the answers for which agents of a conversation wait, docked on its message field. A request that a
 * person reads stays until the person closes or leaves it: another one in its place would get the decision that was meant
 * for the first one.
 */
export function RequestDock({ requests, nameOf, agent, disabled }: RequestDockProps) {
  const [shown, setShown] = useState<Request | null>(null);
  const [closedHere, setClosedHere] = useState<string | null>(null);
  const first = requests[0] ?? null;
  const index = shown === null ? -1 : requests.findIndex((each) => each.id === shown.id);
  const isOver = shown !== null && index < 0;
  if ((shown === null && first !== null) || (isOver && closedHere === shown.id)) setShown(first);
  const request = requests[index] ?? shown;
  if (request === null) return null;
  const show = (next: number) => setShown(requests[next] ?? null);
  const common = {
    name: nameOf(request),
    isOver,
    onClosed: () => setClosedHere(request.id),
    pages: requests.length > 1 && !isOver && (
      <span className={css.dockPages}>
        {index + 1} of {requests.length}
        <IconButton label="Previous request" disabled={index === 0} onClick={() => show(index - 1)}>
          <ChevronLeft size={16} aria-hidden />
        </IconButton>
        <IconButton
          label="Next request"
          disabled={index === requests.length - 1}
          onClick={() => show(index + 1)}
        >
          <ChevronRight size={16} aria-hidden />
        </IconButton>
      </span>
    ),
    leave: <Button onClick={() => setShown(first)}>{requests.length > 0 ? "Next request" : "Close"}</Button>,
  };
  // The key gives each request its own pause before its buttons work.
  return isQuestion(request) ? (
    <QuestionRequest key={request.id} question={request} {...common} />
  ) : (
    <ApprovalRequest key={request.id} approval={request} agent={agent} disabled={disabled} {...common} />
  );
}
