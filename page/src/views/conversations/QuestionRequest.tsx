import { useQuery } from "@tanstack/react-query";
import { get } from "../../api/client";
import { keys } from "../../api/queries";
import type { Question } from "../../api/types";
import { StatusGlyph } from "../../kit/Status";
import { visible, visibleLines } from "../../kit/visible";
import { QuestionAnswer } from "../approvals/Questions";
import css from "./conversation.module.css";
import { type DockedProps, DockHead } from "./DockHead";

/** A question in the dock. One that has ended elsewhere keeps the answer that a person was typing. */
export function QuestionRequest({
  question,
  name,
  isOver,
  onClosed,
  pages,
  leave,
}: DockedProps & { question: Question }) {
  const ended = useQuery({
    queryKey: [...keys.questions, question.id],
    queryFn: ({ signal }) => get<Question>(`/questions/${question.id}`, {}, signal),
    enabled: isOver,
  });
  return (
    <section className={css.dock} aria-label={`Question of ${visible(name)}`}>
      {isOver ? (
        <header>
          <StatusGlyph look="skipped" />
          <strong>{visible(name)} asked</strong>
        </header>
      ) : (
        <DockHead pages={pages} deadline={question.deadline_at}>
          {visible(name)} asks
        </DockHead>
      )}
      <p className={css.dockQuestion}>{visibleLines(question.text)}</p>
      <QuestionAnswer question={isOver ? (ended.data ?? question) : question} onAnswered={onClosed} />
      {isOver && <footer>{leave}</footer>}
    </section>
  );
}
