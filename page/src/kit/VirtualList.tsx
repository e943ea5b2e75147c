import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, type Ref, useImperativeHandle, useRef } from "react";

export interface VirtualListHandle {
  /** Gives the focus to the link of the next row, or of the previous one; of the first visible row if none has it. */
  focusRow(step: 1 | -1): void;
}

/** A list that keeps only the visible rows in the document. */
export function VirtualList<T>(props: {
  items: T[];
  /** The height in pixels: of all rows, or of each. */
  rowHeight: number | ((item: T) => number);
  keyOf(item: T): string;
  render(item: T, index: number): ReactNode;
  className?: string;
  label: string;
  ref?: Ref<VirtualListHandle>;
}) {
  const scroller = useRef<HTMLDivElement>(null);
  const virtualizer = useVirtualizer({
    count: props.items.length,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => {
      const item = props.items[index];
      if (typeof props.rowHeight === "number") return props.rowHeight;
      return item === undefined ? 0 : props.rowHeight(item);
    },
    overscan: 10,
    getItemKey: (index) => {
      const item = props.items[index];
      return item === undefined ? index : props.keyOf(item);
    },
  });
  useImperativeHandle(props.ref, () => ({
    focusRow: (step) => {
      const list = scroller.current;
      if (list === null) return;
      // The neighbours of a visible row are in the document, because the virtualizer draws some rows more.
      const rows = [...list.querySelectorAll<HTMLElement>('[role="listitem"]')];
      const focused = rows.findIndex((row) => row.contains(document.activeElement));
      const { top } = list.getBoundingClientRect();
      const visible = rows.findIndex((row) => row.getBoundingClientRect().bottom > top);
      const row = rows[focused === -1 ? visible : focused + step];
      row?.querySelector<HTMLElement>("a[href]")?.focus();
    },
  }));
  return (
    <div ref={scroller} className={props.className} role="list" aria-label={props.label} tabIndex={0}>
      <div style={{ height: virtualizer.getTotalSize(), position: "relative" }}>
        {virtualizer.getVirtualItems().map((row) => {
          const item = props.items[row.index];
          return (
            item !== undefined && (
              <div
                key={row.key}
                role="listitem"
                style={{
                  position: "absolute",
                  insetInline: 0,
                  height: row.size,
                  translate: `0 ${row.start}px`,
                }}
              >
                {props.render(item, row.index)}
              </div>
            )
          );
        })}
      </div>
    </div>
  );
}
