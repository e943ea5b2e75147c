import { Tabs as RadixTabs } from "radix-ui";
import { type ComponentProps, type ReactNode, useEffect, useId, useRef, useState } from "react";
import css from "./kit.module.css";
import { TextWithCode } from "./TextWithCode";

export function Panel({
  title,
  aside,
  children,
}: {
  title?: ReactNode;
  aside?: ReactNode;
  children: ReactNode;
}) {
  return (
    <section className={css.panel}>
      {title !== undefined && (
        <header className={css.panelHead}>
          <h2>{title}</h2>
          {aside}
        </header>
      )}
      {children}
    </section>
  );
}

/** One sentence, one button, and the same as a command. */
export function EmptyState({
  text,
  action,
  command,
}: {
  text: string;
  action?: ReactNode;
  command?: string;
}) {
  return (
    <div className={css.empty}>
      <p>{text}</p>
      {action}
      {command && <code>{command}</code>}
    </div>
  );
}

const WIDTHS = [70, 92, 56, 84, 64, 76];

/** Grey lines, shown after 150 ms so that a fast answer does not flicker. */
export function Skeleton({ rows = 4 }: { rows?: number }) {
  const [shown, setShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), 150);
    return () => clearTimeout(timer);
  }, []);
  if (!shown) return null;
  return (
    <div className={css.skeleton} role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines are all alike.
        <span key={row} style={{ width: `${WIDTHS[row % WIDTHS.length]}%` }} />
      ))}
    </div>
  );
}

interface FrameProps {
  label: string;
  note?: ReactNode;
  error?: string | null | undefined;
}

/** The label of a control, and below it the note or the error. `children` draws the control with these properties. */
function Frame(
  props: FrameProps & {
    className: string | undefined;
    children(
      control: Pick<ComponentProps<"input">, "id" | "className" | `aria-${"invalid" | "describedby"}`>,
    ): ReactNode;
  },
) {
  const { label, note, error, className } = props;
  const id = useId();
  const noteId = `${id}-note`;
  return (
    <div className={css.field}>
      <label htmlFor={id}>{label}</label>
      {props.children({
        id,
        className: className === undefined ? css.input : `${css.input} ${className}`,
        "aria-invalid": error ? true : undefined,
        "aria-describedby": error || note ? noteId : undefined,
      })}
      {(error || note) && (
        <span id={noteId} className={error ? css.fieldError : css.fieldNote}>
          {error ? <TextWithCode text={error} /> : note}
        </span>
      )}
    </div>
  );
}

export interface FieldProps extends ComponentProps<"input">, FrameProps {}

export function Field({ label, note, error, className, ...rest }: FieldProps) {
  return (
    <Frame label={label} note={note} error={error} className={className}>
      {(control) => <input {...rest} {...control} />}
    </Frame>
  );
}

export interface TextFieldProps extends ComponentProps<"textarea">, FrameProps {}

/** A field of several lines. */
export function TextField({ label, note, error, className, ...rest }: TextFieldProps) {
  return (
    <Frame label={label} note={note} error={error} className={className}>
      {(control) => <textarea rows={4} {...rest} {...control} />}
    </Frame>
  );
}

export interface SelectFieldProps extends ComponentProps<"select">, FrameProps {}

/** A native select, because its list needs no inline style and suits phones. */
export function SelectField({ label, note, error, className, ...rest }: SelectFieldProps) {
  return (
    <Frame label={label} note={note} error={error} className={className}>
      {(control) => <select {...rest} {...control} />}
    </Frame>
  );
}

/** Several choices at a time. */
export function ChoiceField(
  props: FrameProps & {
    name: string;
    options: readonly { value: string; label: ReactNode }[];
    value: readonly string[];
    onChange(value: string[]): void;
  },
) {
  const { label, note, error, name, options, value, onChange } = props;
  const noteId = useId();
  return (
    <fieldset className={css.choice}>
      <legend>{label}</legend>
      <div>
        {options.map((option) => (
          <label key={option.value}>
            <input
              type="checkbox"
              name={name}
              value={option.value}
              checked={value.includes(option.value)}
              aria-invalid={error ? true : undefined}
              aria-describedby={error || note ? noteId : undefined}
              onChange={({ target }) =>
                onChange(
                  target.checked ? [...value, option.value] : value.filter((each) => each !== option.value),
                )
              }
            />
            {option.label}
          </label>
        ))}
      </div>
      {(error || note) && (
        <span id={noteId} className={error ? css.fieldError : css.fieldNote}>
          {error ? <TextWithCode text={error} /> : note}
        </span>
      )}
    </fieldset>
  );
}

/** Tabs. Keep `value` in the URL. */
export function Tabs(props: {
  value: string;
  onChange(value: string): void;
  tabs: { value: string; label: ReactNode; content: ReactNode }[];
}) {
  const list = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another tab is active then.
  useEffect(() => {
    // On a narrow screen the list scrolls, and the active tab may be beyond its end.
    const active = list.current?.querySelector<HTMLElement>('[data-state="active"]');
    if (list.current && active)
      list.current.scrollLeft = active.offsetLeft - (list.current.clientWidth - active.offsetWidth) / 2;
  }, [props.value]);
  return (
    <RadixTabs.Root value={props.value} onValueChange={props.onChange}>
      <RadixTabs.List ref={list} className={css.tabs}>
        {props.tabs.map((tab) => (
          <RadixTabs.Trigger key={tab.value} value={tab.value} className={css.tab}>
            {tab.label}
          </RadixTabs.Trigger>
        ))}
      </RadixTabs.List>
      {props.tabs.map((tab) => (
        <RadixTabs.Content key={tab.value} value={tab.value} className={css.tabContent}>
          {tab.content}
        </RadixTabs.Content>
      ))}
    </RadixTabs.Root>
  );
}
