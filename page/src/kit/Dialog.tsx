import { Dialog as Radix } from "radix-ui";
import { type ReactNode, useRef } from "react";
import css from "./kit.module.css";
import { visible } from "./visible";

export interface DialogProps {
  open: boolean;
  onClose(): void;
  title: string;
  note?: ReactNode;
  children?: ReactNode;
  /** The buttons. */
  foot?: ReactNode;
  /** The `name` of the control that gets the focus; the first one without. */
  firstField?: string | null;
}

/**
 * A dialog. It shows what it got when it opened, so that no live refresh moves a button under the pointer: give it
 * another `key` to show something else.
 */
export function Dialog({ open, onClose, title, note, children, foot, firstField }: DialogProps) {
  const focused = useRef<Element | null>(null);
  return (
    <Radix.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className={css.overlay} />
        <Radix.Content
          className={css.dialog}
          onOpenAutoFocus={(event) => {
            focused.current = document.activeElement;
            if (firstField == null) return;
            const content = event.currentTarget as HTMLElement;
            const field = content.querySelector<HTMLElement>(`[name="${CSS.escape(firstField)}"]`);
            if (field === null) return;
            event.preventDefault();
            field.focus();
          }}
          onCloseAutoFocus={(event) => {
            // Radix would give the focus to a trigger of its own, which these dialogs do not have.
            event.preventDefault();
            if (focused.current instanceof HTMLElement) focused.current.focus();
          }}
          {...(note === undefined ? { "aria-describedby": undefined } : {})}
        >
          <Radix.Title asChild>
            <h2>{visible(title)}</h2>
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
