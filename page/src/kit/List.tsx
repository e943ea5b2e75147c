/** The parts that the lists of the views share. The lines themselves are `list.module.css`. */
import type { QueryKey } from "@tanstack/react-query";
import { type ComponentProps, type ReactNode, useState } from "react";
import type { Direction } from "../api/pages";
import { queryClient } from "../api/queries";
import kitCss from "./kit.module.css";
import css from "./list.module.css";

/** A button below a list, as wide as the list. */
export function ShowMore(props: ComponentProps<"button">) {
  return <button type="button" {...props} className={css.more} />;
}

export interface MorePagesProps {
  list: { hasNextPage: boolean; hasPreviousPage: boolean };
  /** The key of `list`. */
  queryKey: QueryKey;
  direction?: Direction;
  children?: ReactNode;
}

/** A button that reads a further page of a list. Shows nothing if there is none. */
export function MorePages(props: MorePagesProps) {
  const { list, queryKey, direction = "forward", children = "Show more" } = props;
  const [busy, setBusy] = useState(false);
  if (!(direction === "forward" ? list.hasNextPage : list.hasPreviousPage)) return null;
  const read = async () => {
    setBusy(true);
    await queryClient.readMore(queryKey, direction);
    setBusy(false);
  };
  // A disabled button would lose the focus. The client asks for a page only once.
  return (
    <ShowMore aria-busy={busy} aria-disabled={busy} onClick={read}>
      {busy && <span className={kitCss.spinner} aria-hidden="true" />}
      {children}
    </ShowMore>
  );
}

/** One sentence in place of the lines of a panel. */
export function NoLines({ children }: { children: ReactNode }) {
  return <p className={css.none}>{children}</p>;
}

export interface ChipsProps {
  /** The name of the choice for screen readers. */
  label: string;
  value: string;
  options: readonly { value: string; label: ReactNode }[];
  onChange(value: string): void;
}

/** Buttons of which one is pressed. */
export function Chips({ label, value, options, onChange }: ChipsProps) {
  return (
    <fieldset className={css.chips}>
      <legend className="visually-hidden">{label}</legend>
      {options.map((option) => (
        <button
          key={option.value}
          type="button"
          aria-pressed={option.value === value}
          onClick={() => onChange(option.value)}
        >
          {option.label}
        </button>
      ))}
    </fieldset>
  );
}
