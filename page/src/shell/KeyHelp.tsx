import { Dialog } from "../kit/Dialog";
import { views } from "../views/registry";
import css from "./shell.module.css";

const KEYS: [string, string][] = [
  ["Ctrl K", "Find or do"],
  ["j k", "Next or previous row, which Enter opens"],
  ["/", "Filter"],
  ["n", "New"],
  ["p", "Pause or resume"],
  ["e", "Edit"],
  ["[ ]", "Previous or next turn"],
  ["?", "This help"],
  ["Enter", "Send, in the message field"],
  ["Shift Enter", "New line, in the message field"],
  ["Esc", "Leave the message field"],
];

export function KeyHelp({ onClose }: { onClose(): void }) {
  const go = views
    .filter((view) => view.key)
    .map((view) => [`g ${view.key}`, view.label] as [string, string]);
  return (
    <Dialog open onClose={onClose} title="Keys">
      <dl className={css.keys}>
        {[...go, ...KEYS].map(([key, meaning]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
