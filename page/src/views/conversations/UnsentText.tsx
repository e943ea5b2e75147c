import { Button } from "../../kit/Button";
import { Copy } from "../../kit/Copy";
import { Callout } from "../../kit/ErrorState";
import { visibleLines } from "../../kit/visible";
import css from "./conversation.module.css";

/** The text of a message that nothing takes any more. Nothing if there is none. */
export function UnsentText({ text, onDiscard }: { text: string; onDiscard(): void }) {
  if (text === "") return null;
  return (
    <Callout
      title="Your message was not sent."
      action={
        <span className={css.unsentActions}>
          <Copy text={text} />
          <Button size="small" onClick={onDiscard}>
            Discard
          </Button>
        </span>
      }
    >
      <p className={css.unsentText}>{visibleLines(text)}</p>
    </Callout>
  );
}
