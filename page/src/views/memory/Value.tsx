import { useId, useState } from "react";
import { visibleLines } from "../../kit/visible";
import { foldedValue } from "./entries";
import css from "./memory.module.css";

/** A value or a message as plain text. A long one is folded until a person asks for the whole. */
export function Value({ value }: { value: string }) {
  const [open, setOpen] = useState(false);
  const id = useId();
  const folded = foldedValue(value);
  if (value === "") return <p className={css.note}>empty</p>;
  return (
    <>
      <p id={id} className={css.value} dir="auto">
        {visibleLines(folded === null || open ? value : `${folded.beginning}…`)}
      </p>
      {folded !== null && (
        <button
          type="button"
          className={css.unfold}
          aria-expanded={open}
          aria-controls={id}
          onClick={() => setOpen(!open)}
        >
          {open ? "Show less" : `Show all, ${folded.size}`}
        </button>
      )}
    </>
  );
}
