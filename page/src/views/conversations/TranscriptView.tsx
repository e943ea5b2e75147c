import { useVirtualizer } from "@tanstack/react-virtual";
import { ArrowDown } from "lucide-react";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import type { Automation } from "../../api/types";
import { useKey } from "../../shell/keys";
import css from "./conversation.module.css";
import type { Item } from "./items";
import { Row } from "./rows";

/** Within this distance of the end, the transcript follows new text. */
const END_THRESHOLD_PX = 24;
const LOAD_OLDER_PX = 600;

const ESTIMATES: Partial<Record<Item["kind"], number>> = {
  day: 44,
  trigger: 36,
  task: 36,
  person: 52,
  work: 36,
  end: 28,
};

export interface TranscriptViewProps {
  items: Item[];
  automations: Automation[];
  hasOlder: boolean;
  onOlder(): void;
  /** The item to show first, such as a run from a link; else the end. */
  startAt: number | null;
}

/** The rows of a conversation: only the visible ones are in the document, and the end stays in view. */
export function TranscriptView({ items, automations, hasOlder, onOlder, startAt }: TranscriptViewProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const [atEnd, setAtEnd] = useState(true);
  /** The number of items when the end was left. */
  const [countAtLeave, setCountAtLeave] = useState(0);
  const following = useRef(true);
  const virtualizer = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => ESTIMATES[items[index]?.kind ?? "answer"] ?? 120,
    getItemKey: (index) => items[index]?.key ?? index,
    overscan: 6,
    anchorTo: "end",
    followOnAppend: true,
    scrollEndThreshold: END_THRESHOLD_PX,
    paddingStart: 16,
    paddingEnd: 16,
  });

  const toEnd = useCallback(() => {
    const element = scroller.current;
    if (!element) return;
    following.current = true;
    element.scrollTop = element.scrollHeight;
  }, []);

  // Rows get their real height after they are shown, and the live text grows: stay at the end until a person leaves it.
  const size = virtualizer.getTotalSize();
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new size is the reason to scroll.
  useLayoutEffect(() => {
    if (following.current) toEnd();
  }, [size, items.length, toEnd]);

  const started = useRef(false);
  useLayoutEffect(() => {
    if (started.current || items.length === 0) return;
    started.current = true;
    if (startAt !== null) {
      following.current = false;
      virtualizer.scrollToIndex(startAt, { align: "start" });
    }
  }, [items.length, startAt, virtualizer]);

  useEffect(() => {
    const element = scroller.current;
    if (!element) return;
    let last = element.scrollTop;
    const onScroll = () => {
      const distance = element.scrollHeight - element.scrollTop - element.clientHeight;
      const end = distance <= END_THRESHOLD_PX;
      // Only a way up ends the following: a growing text also moves the end away.
      if (end) following.current = true;
      else if (element.scrollTop < last - 1) following.current = false;
      last = element.scrollTop;
      setAtEnd((before) => (following.current === before ? before : following.current));
    };
    element.addEventListener("scroll", onScroll, { passive: true });
    const observer = new ResizeObserver(() => {
      if (following.current) toEnd();
    });
    observer.observe(element);
    return () => {
      element.removeEventListener("scroll", onScroll);
      observer.disconnect();
    };
  }, [toEnd]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the number at this moment counts.
  useEffect(() => {
    if (!atEnd) setCountAtLeave(items.length);
  }, [atEnd]);

  const virtualItems = virtualizer.getVirtualItems();
  const offset = virtualizer.scrollOffset ?? 0;
  useEffect(() => {
    if (hasOlder && started.current && offset < LOAD_OLDER_PX && !following.current) onOlder();
  }, [hasOlder, offset, onOlder]);

  const jump = (direction: 1 | -1) => {
    const element = scroller.current;
    if (!element) return;
    const here = virtualItems.find((row) => row.end > element.scrollTop + 8)?.index ?? 0;
    for (let index = here + direction; index >= 0 && index < items.length; index += direction) {
      const kind = items[index]?.kind;
      if (kind === "person" || kind === "trigger" || kind === "task") {
        following.current = false;
        virtualizer.scrollToIndex(index, { align: "start" });
        return;
      }
    }
    if (direction === 1) toEnd();
  };
  useKey("[", () => jump(-1), true);
  useKey("]", () => jump(1), true);

  const fresh = Math.max(0, items.length - countAtLeave);
  return (
    <div className={css.transcriptFrame}>
      <div
        ref={scroller}
        className={css.transcript}
        role="log"
        aria-label="Transcript"
        aria-live="off"
        tabIndex={0}
      >
        <div style={{ height: size, position: "relative" }}>
          {virtualItems.map((row) => {
            const item = items[row.index];
            return (
              item && (
                <div
                  key={row.key}
                  ref={virtualizer.measureElement}
                  data-index={row.index}
                  className={css.row}
                  style={{ transform: `translateY(${row.start}px)` }}
                >
                  <div className={css.column}>
                    <Row item={item} automations={automations} />
                  </div>
                </div>
              )
            );
          })}
        </div>
      </div>
      {!atEnd && (
        <button type="button" className={css.toEnd} onClick={toEnd}>
          <ArrowDown size={14} aria-hidden />
          {fresh > 0 ? `${fresh} new` : "To the end"}
        </button>
      )}
    </div>
  );
}
