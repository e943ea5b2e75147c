/** Answering the questions of agents. */
import { newKey, post } from "../../api/client";
import { hasStatus } from "../../api/problem";
import { keys, queryClient } from "../../api/queries";
import type { Question } from "../../api/types";
import { errorText } from "../../kit/ErrorState";
import { callerNameAtStart, clock } from "../../kit/format";
import { toast } from "../../kit/Toast";

export type Answer = { text: string } | { option: number } | { form: Record<string, unknown> };

/**
 * Answers a question. Returns `false` if it was not answered here: the list then shows its state, as when another person
 * was faster.
 */
export const answerQuestion = (id: string, answer: Answer) => close(id, "answer", { body: answer });

/** Declines the form of an agent that waits in its turn. The result and the list as with `answerQuestion`. */
export const declineQuestion = (id: string) => close(id, "decline", {});

async function close(id: string, how: "answer" | "decline", options: { body?: Answer }): Promise<boolean> {
  try {
    await post(`/questions/${id}/${how}`, { idempotencyKey: newKey(), ...options });
    return true;
  } catch (error) {
    if (!hasStatus(error, 409)) toast(`Not answered. ${errorText(error)}`);
    return false;
  } finally {
    queryClient.invalidateQueries({ queryKey: keys.overview });
    await queryClient.invalidateQueries({ queryKey: keys.questions });
  }
}

/** An answer or a default as text. Answers to forms are objects. */
export function answerText(answer: unknown): string {
  return typeof answer === "string" ? answer : JSON.stringify(answer);
}

/**
 * Returns the typed text of a question that has ended without it, or `null` if there is none. A typed text that is the
 * stored answer has arrived, although the page may not have received the response.
 */
export function lateText(question: Question, typed: string): string | null {
  return typed.trim() === "" || typed.trim() === question.answer ? null : typed;
}

/** Says how a question ended. */
export function endText(question: Question): string {
  const who = question.answered_by && callerNameAtStart(question.answered_by);
  const at = question.closed_at === null ? "" : ` at ${clock(question.closed_at)}`;
  switch (question.state) {
    case "answered":
      if (question.declined) return `${who ?? "A person"} declined to answer${at}.`;
      return `${who ?? "A person"} answered${at}: ${answerText(question.answer)}`;
    case "expired":
      return question.answer === null
        ? `Nobody answered in time${at}.`
        : `Nobody answered in time${at}, so the default counts: ${answerText(question.answer)}`;
    case "void":
      return `No answer can reach the agent any more${at === "" ? "" : `, since${at.slice(3)}`}.`;
    default:
      return "It waits no longer.";
  }
}
