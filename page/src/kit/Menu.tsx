import { DropdownMenu } from "radix-ui";
import { type ReactNode, useRef } from "react";
import css from "./kit.module.css";

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
  const chosen = useRef<(() => void) | null>(null);
  // The action runs once the trigger has the focus again, so that a dialog gives the focus back to the trigger and not
  // to an item that is gone.
  const act = () => {
    const action = chosen.current;
    chosen.current = null;
    if (action !== null) queueMicrotask(action);
  };
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          className={css.menu}
          align="end"
          sideOffset={4}
          collisionPadding={8}
          onCloseAutoFocus={act}
        >
          {items.map((item, index) =>
            item === null ? (
              // biome-ignore lint/suspicious/noArrayIndexKey: lines have no identity.
              <DropdownMenu.Separator key={index} className={css.menuLine} />
            ) : (
              <DropdownMenu.Item
                key={item.label}
                className={item.danger ? `${css.menuItem} ${css.menuDanger}` : css.menuItem}
                disabled={item.refusal != null}
                onSelect={() => {
                  chosen.current = item.onSelect;
                }}
              >
                {item.icon}
                <span>
                  {item.label}
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
