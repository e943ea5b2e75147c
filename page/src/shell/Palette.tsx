import {
  type KeyboardEvent,
  type MouseEvent,
  type Ref,
  type RefObject,
  useEffect,
  useId,
  useImperativeHandle,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { flushSync } from "react-dom";
import { useLocation } from "wouter";
import { useAutomations, useGoals, useSessions, useWhoami } from "../api/queries";
import kit from "../kit/kit.module.css";
import { views } from "../views/registry";
import { type Choice, choicesFor } from "./choices";
import css from "./shell.module.css";

/** Calls the function after the next frame is on the screen. */
function afterPaint(act: () => void): void {
  requestAnimationFrame(() => setTimeout(act));
}

/** Tab does nothing, because it would move the focus to the page below. */
const KEYS = new Set(["Escape", "Enter", "ArrowDown", "ArrowUp", "Tab"]);

/** A click on a row or beside one leaves the focus in the input. */
function keepFocus(event: MouseEvent): void {
  if (!(event.target instanceof HTMLInputElement)) event.preventDefault();
}

export interface PaletteHandle {
  open(): void;
}

/**
 * The palette: goes to views and objects, and acts on automations and goals.
 *
 * To open it draws no more than its input, which gets the focus before the handler of the key returns, so that the next
 * keys are typed into it. The rows follow after the first frame. A dialog of the kit takes several times as long, because
 * it keeps focus, pointer and scrolling from the page below; here only the input takes the focus, and nothing scrolls.
 */
export function Palette({ ref }: { ref: Ref<PaletteHandle> }) {
  const [isOpen, setOpen] = useState(false);
  useImperativeHandle(ref, () => ({ open: () => flushSync(() => setOpen(true)) }), []);
  return isOpen ? <OpenPalette onClose={() => setOpen(false)} /> : null;
}

function OpenPalette({ onClose }: { onClose(): void }) {
  const listId = useId();
  const [, navigate] = useLocation();
  const input = useRef<HTMLInputElement>(null);
  const rows = useRef<RowsHandle>(null);
  const [text, setText] = useState<string | null>(null);
  const find = () => setText(input.current?.value ?? null);
  useLayoutEffect(() => {
    const before = document.activeElement;
    input.current?.focus();
    afterPaint(() => setText(input.current?.value ?? null));
    return () => {
      if (before instanceof HTMLElement) before.focus({ preventScroll: true });
    };
  }, []);
  const act = (choice: Choice) => {
    onClose();
    if (typeof choice.act === "string") navigate(choice.act);
    else choice.act();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (!KEYS.has(event.key) || event.nativeEvent.isComposing) return;
    event.preventDefault();
    // Otherwise a fast Enter would choose among the rows of the text before.
    flushSync(find);
    if (event.key === "Escape") onClose();
    else if (event.key === "Enter") rows.current?.choose();
    else if (event.key === "ArrowDown") rows.current?.move(1);
    else if (event.key === "ArrowUp") rows.current?.move(-1);
  };
  return (
    <>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: Escape does the same. */}
      <div className={kit.overlay} role="presentation" onClick={onClose} />
      <div
        className={css.palette}
        role="dialog"
        aria-modal="true"
        aria-label="Find or do"
        onMouseDown={keepFocus}
      >
        <div className={css.paletteHead}>
          <input
            ref={input}
            role="combobox"
            aria-label="Find or do"
            aria-expanded={text !== null}
            aria-controls={listId}
            aria-autocomplete="list"
            autoComplete="off"
            spellCheck={false}
            placeholder="Find or do, or paste an ID"
            onChange={() => afterPaint(find)}
            onKeyDown={onKeyDown}
          />
          <kbd>Esc</kbd>
        </div>
        {text === null ? (
          <div className={css.paletteList} data-waiting="true" />
        ) : (
          <Rows ref={rows} id={listId} text={text} input={input} onChoose={act} />
        )}
        <div className={css.paletteFoot}>
          <span>
            <kbd>↑</kbd> <kbd>↓</kbd> choose
          </span>
          <span>
            <kbd>Enter</kbd> open
          </span>
        </div>
      </div>
    </>
  );
}

interface RowsHandle {
  /** Makes another row the active one. */
  move(step: number): void;
  /** Acts on the active row. */
  choose(): void;
}

function Rows(props: {
  ref: Ref<RowsHandle>;
  id: string;
  text: string;
  input: RefObject<HTMLInputElement | null>;
  onChoose(choice: Choice): void;
}) {
  const { ref, id, text, input, onChoose } = props;
  const sessions = useSessions().data?.items;
  const automations = useAutomations().data?.items;
  const goals = useGoals().data?.items;
  const permissions = useWhoami().data?.permissions;
  const choices = useMemo(
    () =>
      choicesFor(text, {
        views,
        sessions: sessions ?? [],
        automations: automations ?? [],
        goals: goals ?? [],
        permissions: permissions ?? [],
      }),
    [text, sessions, automations, goals, permissions],
  );
  // Another text begins with its best row again. A refetch keeps the row, wherever it is then.
  const [chosen, setChosen] = useState({ text, key: "" });
  const found = chosen.text === text ? choices.findIndex((choice) => choice.key === chosen.key) : -1;
  const active = Math.max(found, 0);
  const rowId = (index: number) => `${id}-${index}`;
  const setActive = (index: number) => setChosen({ text, key: choices[index]?.key ?? "" });
  useImperativeHandle(ref, () => ({
    move: (step) => {
      const next = (active + step + choices.length) % choices.length;
      if (choices[next] === undefined) return;
      setActive(next);
      document.getElementById(rowId(next))?.scrollIntoView({ block: "nearest" });
    },
    choose: () => {
      const choice = choices[active];
      if (choice !== undefined) onChoose(choice);
    },
  }));
  useEffect(() => {
    if (choices.length > 0) input.current?.setAttribute("aria-activedescendant", `${id}-${active}`);
    else input.current?.removeAttribute("aria-activedescendant");
  }, [input, id, active, choices.length]);
  if (choices.length === 0)
    return (
      <p className={css.paletteEmpty} role="status">
        Nothing is called like this.
      </p>
    );
  const groups: { name: string; from: number; choices: Choice[] }[] = [];
  for (const [index, choice] of choices.entries()) {
    const last = groups.at(-1);
    if (last?.name === choice.group) last.choices.push(choice);
    else groups.push({ name: choice.group, from: index, choices: [choice] });
  }
  return (
    <div id={id} className={css.paletteList} role="listbox" aria-label="Choices">
      {groups.map(({ name, from, choices: rows }) => (
        <div key={from} role="group" aria-label={name}>
          <div className={css.paletteHeading} aria-hidden="true">
            {name}
          </div>
          {rows.map((choice, index) => (
            <Row
              key={choice.key}
              id={rowId(from + index)}
              choice={choice}
              isActive={from + index === active}
              onPoint={() => setActive(from + index)}
              onChoose={() => onChoose(choice)}
            />
          ))}
        </div>
      ))}
    </div>
  );
}

function Row(props: { id: string; choice: Choice; isActive: boolean; onPoint(): void; onChoose(): void }) {
  const { id, choice, isActive, onPoint, onChoose } = props;
  const Icon = choice.icon;
  return (
    // biome-ignore lint/a11y/useFocusableInteractive: the input keeps the focus and names the active row.
    // biome-ignore lint/a11y/useKeyWithClickEvents: the input has the keys.
    <div
      id={id}
      role="option"
      aria-selected={isActive}
      className={css.paletteRow}
      onPointerMove={isActive ? undefined : onPoint}
      onClick={onChoose}
    >
      {Icon && <Icon size={16} aria-hidden />}
      <span className="truncate">{choice.label}</span>
      {choice.note && <small>{choice.note}</small>}
    </div>
  );
}
