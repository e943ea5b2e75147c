import type { ReactNode } from "react";
import { ApiProblem, Unreachable } from "../api/problem";
import { Button } from "./Button";
import css from "./kit.module.css";
import { StatusGlyph } from "./Status";

/** Returns an error as one text for people. */
export function errorText(error: unknown): string {
  if (error instanceof ApiProblem) {
    const { detail, hint } = error.problem;
    const parts = [detail, hint].filter(Boolean).map(sentence);
    return parts.join(detail.includes("\n") ? "\n" : " ");
  }
  return error instanceof Error ? error.message : String(error);
}

/** The texts of the API begin with a small letter and have no full stop. A name such as `team.toml` stays as it is. */
export function sentence(text: string | null | undefined): string {
  if (text == null || text === "") return "";
  const first = /^[a-z][a-z'’-]*[,;:.!?]?(\s|$)/i.test(text)
    ? text.charAt(0).toUpperCase() + text.slice(1)
    : text;
  return /[.!?]$/.test(first) ? first : `${first}.`;
}

/** Shows the title, the detail and the hint of a problem, with Retry. */
export function ErrorState({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const problem = error instanceof ApiProblem ? error.problem : null;
  const title =
    problem?.title ?? (error instanceof Unreachable ? "The server cannot be reached" : "Something broke");
  return (
    <Callout kind="failed" title={title} action={onRetry && <Button onClick={onRetry}>Retry</Button>}>
      {problem ? errorText(error) : "Nothing was lost. Matins tries again by itself."}
    </Callout>
  );
}

/** One line that says why an action failed, beside its button. */
export function FailureLine({ id, children }: { id?: string; children: ReactNode }) {
  return (
    <div id={id} className={css.failureLine} role="alert">
      {children}
    </div>
  );
}

export function Callout(props: {
  kind?: "plain" | "failed" | "waits";
  title?: string;
  children?: ReactNode;
  action?: ReactNode;
}) {
  const { kind = "plain", title, children, action } = props;
  const look = kind === "failed" ? css.calloutFailed : kind === "waits" ? css.calloutWaits : "";
  return (
    <div className={`${css.callout} ${look}`} role={kind === "failed" ? "alert" : undefined}>
      {kind === "failed" && <StatusGlyph look="failed" />}
      {kind === "waits" && <StatusGlyph look="waits" />}
      <div>
        {title && <strong>{title}</strong>}
        {children}
      </div>
      {action}
    </div>
  );
}
