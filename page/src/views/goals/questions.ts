/** The questions of the seats of a goal, among its messages. */
import { infiniteQueryOptions } from "@tanstack/react-query";
import { get } from "../../api/client";
import { keys } from "../../api/queries";
import type { Page, Question, SeatMessage } from "../../api/types";

const PAGE = 100;

/** The questions in all states, from the newest one back. */
export const questionsOf = (goal: string) =>
  infiniteQueryOptions({
    queryKey: [...keys.questions, "all", goal],
    initialPageParam: null as string | null,
    queryFn: ({ pageParam, signal }) => {
      const query = { state: "any", session: goal, after: pageParam, limit: PAGE };
      return get<Page<Question>>("/questions", query, signal);
    },
    getNextPageParam: (page) => page.next,
  });

/** A part of a list, the newest first. */
export interface Part<T> {
  items: readonly T[];
  hasOlder: boolean;
  hasNewer: boolean;
}

export type Entry = { message: SeatMessage; question?: never } | { question: Question; message?: never };

interface Merged {
  entries: Entry[];
  /** `true` if the entries are all that there are. */
  isWhole: boolean;
  /** The list of which older items come next. */
  next: "messages" | "questions";
}

const timeOf = ({ created_at }: { created_at: string }): number => Date.parse(created_at);

/**
 * Merges messages and questions by time, the newest first. Leaves out the items of one list that lie beyond an end of the
 * other one, as long as that list has more there, because its next page belongs between them.
 */
export function merge(messages: Part<SeatMessage>, questions: Part<Question>): Merged {
  const entries: Entry[] = [];
  const asked = questions.items.filter(isWithin(messages));
  let next = 0;
  const addQuestions = (until: number) => {
    for (let question = asked[next]; question && timeOf(question) > until; question = asked[next]) {
      entries.push({ question });
      next += 1;
    }
  };
  for (const message of messages.items.filter(isWithin(questions))) {
    addQuestions(timeOf(message));
    entries.push({ message });
  }
  addQuestions(Number.NEGATIVE_INFINITY);
  return {
    entries,
    isWhole: [messages, questions].every(({ hasOlder, hasNewer }) => !hasOlder && !hasNewer),
    next: oldest(questions) > oldest(messages) ? "questions" : "messages",
  };
}

type Dated = { created_at: string };

/** The time before which a list has items that are not read. */
function oldest({ items, hasOlder }: Part<Dated>): number {
  const last = items.at(-1);
  return hasOlder && last ? timeOf(last) : Number.NEGATIVE_INFINITY;
}

function isWithin(other: Part<Dated>): (item: Dated) => boolean {
  const from = oldest(other);
  const [first] = other.items;
  const to = other.hasNewer && first ? timeOf(first) : Number.POSITIVE_INFINITY;
  return (item) => timeOf(item) >= from && timeOf(item) <= to;
}
