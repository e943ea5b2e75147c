import { Timer } from "lucide-react";
import type { ReactNode } from "react";
import { longTime } from "../../kit/format";
import { StatusGlyph } from "../../kit/Status";
import { Countdown } from "../../kit/Time";
import css from "./conversation.module.css";

/** What the dock gives to each request that it shows. */
export interface DockedProps {
  /** The name of the one that asks. */
  name: string;
  /** `true` if the request waits no longer. */
  isOver: boolean;
  /** Called after a decision or an answer of this page. */
  onClosed(): void;
  /** The place among several requests, with the buttons that change it. */
  pages: ReactNode;
  /** The button that leaves a request which ended elsewhere. */
  leave: ReactNode;
}

/** The first line of a request that waits. `then` says what happens at the deadline. */
export function DockHead(props: {
  pages: ReactNode;
  deadline: string;
  title?: string;
  then?: string;
  children: ReactNode;
}) {
  const { pages, deadline, title, then = "", children } = props;
  return (
    <header>
      <StatusGlyph look="waits" />
      <strong>{children}</strong>
      {pages}
      <span className={css.dockLeft} title={title ?? longTime(deadline)}>
        <Timer size={16} aria-hidden />
        <span>
          <Countdown until={deadline} /> left{then}
        </span>
      </span>
    </header>
  );
}
