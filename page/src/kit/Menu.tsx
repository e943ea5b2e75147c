import { DropdownMenu } from "radix-ui";
import { type ReactNode, useRef } from "react";
import { flushSync } from "react-dom";
import css from "./kit.module.css";
import { visible } from "./visible";

export interface MenuItem {
  label: string;
  icon?: ReactNode;
  note?: string;
  danger?: boolean;
  /** Disables the item and says why. */
  refusal?: string | null | undefined;
  onSelect(): void;
}

/** A menu behind a button. `null` in the list draws a line. */
export function Menu({ trigger, items }: { trigger: ReactNode; items: (MenuItem | null)[] }) {
  const button = useRef<HTMLButtonElement>(null);
  const isChosen = useRef(false);
  // The trigger has the focus before the action, so that a dialog gives the focus back to it and not to an item that is
  // gone. The dialog itself has the focus before the next event, so that the next keys are typed into it.
  const choose = (item: MenuItem) => {
    isChosen.current = true;
    queueMicrotask(() => {
      button.current?.focus();
      flushSync(item.onSelect);
    });
  };
  const onCloseAutoFocus = (event: Event) => {
    if (isChosen.current) event.preventDefault();
    isChosen.current = false;
  };
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger ref={button} asChild>
        {trigger}
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          className={css.menu}
          align="end"
          sideOffset={4}
          collisionPadding={8}
          onCloseAutoFocus={onCloseAutoFocus}
        >
          {items.map((item, index) =>
            item === null ? (
              // biome-ignore lint/suspicious/noArrayIndexKey: lines have no identity.
              <DropdownMenu.Separator key={index} className={css.menuLine} />
            ) : (
              <DropdownMenu.Item
                key={visible(item.label)}
                className={item.danger ? `${css.menuItem} ${css.menuDanger}` : css.menuItem}
                disabled={item.refusal != null}
                onSelect={() => choose(item)}
              >
                {item.icon}
                <span>
                  {visible(item.label)}
                  {(item.refusal ?? item.note) && <small>{item.refusal ?? item.note}</small>}
                </span>
              </DropdownMenu.Item>
            ),
          )}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}
