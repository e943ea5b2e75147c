/** The parts that the lists of the views share. The lines themselves are `list.module.css`. */
import type { ComponentProps, ReactNode } from "react";
import css from "./list.module.css";

/** A button below a list, as wide as the list. */
export function ShowMore({ children = "Show more", ...rest }: ComponentProps<"button">) {
  return (
    <button type="button" {...rest} className={css.more}>
      {children}
    </button>
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
