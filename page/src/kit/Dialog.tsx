import { Dialog as Radix } from "radix-ui";
import type { ReactNode } from "react";
import css from "./kit.module.css";

export interface DialogProps {
  open: boolean;
  onClose(): void;
  title: string;
  note?: ReactNode;
  children?: ReactNode;
  /** The buttons. */
  foot?: ReactNode;
}

/**
 * A dialog. It shows what it got when it opened, so that no live refresh moves a button under the pointer: give it
 * another `key` to show something else.
 */
export function Dialog({ open, onClose, title, note, children, foot }: DialogProps) {
  return (
    <Radix.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className={css.overlay} />
        <Radix.Content
          className={css.dialog}
          {...(note === undefined ? { "aria-describedby": undefined } : {})}
        >
          <Radix.Title asChild>
            <h2>{title}</h2>
          </Radix.Title>
          {note !== undefined && (
            <Radix.Description asChild>
              <div className={css.dialogNote}>{note}</div>
            </Radix.Description>
          )}
          {children !== undefined && <div className={css.dialogBody}>{children}</div>}
          {foot !== undefined && <div className={css.dialogFoot}>{foot}</div>}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
