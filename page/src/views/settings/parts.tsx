/** What the sections of the settings share. */
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useRef, useState } from "react";
import { get } from "../../api/client";
import { ApiProblem } from "../../api/problem";
import { queryClient } from "../../api/queries";
import type { Page } from "../../api/types";
import { ActionDialog } from "../../kit/ActionDialog";
import { Button } from "../../kit/Button";
import { Copy } from "../../kit/Copy";
import { Dialog } from "../../kit/Dialog";
import { Callout, ErrorState, errorText, FailureLine } from "../../kit/ErrorState";
import { EmptyState, Skeleton } from "../../kit/layout";
import { TextWithCode } from "../../kit/TextWithCode";
import { visible, visibleLines } from "../../kit/visible";
import css from "./settings.module.css";

/** Reads a list of the settings and shows it, or why it is not there. */
export function List<T>(props: {
  path: string;
  empty: string;
  command: string;
  /** The time between two reads of a list that changes without an event of the feed. */
  refetchMs?: number;
  keyOf(item: T): string;
  render(item: T): ReactNode;
}) {
  const list = useQuery({
    queryKey: [props.path.slice(1)],
    queryFn: ({ signal }) => get<Page<T>>(props.path, {}, signal),
    refetchInterval: props.refetchMs ?? false,
  });
  // Rows that are there stay, with the dialogs that are open in them.
  if (list.error && list.data === undefined)
    return <ErrorState error={list.error} onRetry={() => list.refetch()} />;
  if (list.data === undefined) return <Skeleton rows={4} />;
  if (list.data.items.length === 0) return <EmptyState text={props.empty} command={props.command} />;
  return (
    <>
      <ul className={css.list}>
        {list.data.items.map((item) => (
          <li key={props.keyOf(item)}>{props.render(item)}</li>
        ))}
      </ul>
      {list.data.next != null && <p className={css.note}>The first {list.data.items.length} are shown.</p>}
    </>
  );
}

export function refetch(...paths: string[]): void {
  for (const path of paths) queryClient.invalidateQueries({ queryKey: [path] });
}

/** A form behind a button. It closes when `submit` succeeds. Else it shows the problem, and focuses the field of that name. */
export function FormDialog(props: {
  title: string;
  note?: ReactNode;
  action: string;
  children: ReactNode;
  submit(): Promise<void>;
  onClose(): void;
}) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const form = useRef<HTMLFormElement>(null);
  const submit = async () => {
    setBusy(true);
    setError(null);
    try {
      await props.submit();
      props.onClose();
    } catch (problem) {
      setError(problem);
      setBusy(false);
      const field = problem instanceof ApiProblem ? problem.problem.field : null;
      const input = field == null ? null : form.current?.elements.namedItem(field);
      if (input instanceof HTMLElement) input.focus();
    }
  };
  return (
    <Dialog
      open
      onClose={props.onClose}
      title={props.title}
      note={props.note}
      foot={
        <>
          <Button onClick={props.onClose}>Cancel</Button>
          <Button kind="primary" busy={busy} onClick={submit}>
            {props.action}
          </Button>
        </>
      }
    >
      <form
        ref={form}
        className={css.form}
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        {props.children}
        {error !== null && (
          <FailureLine>
            {error instanceof ApiProblem && error.problem.field ? `${error.problem.field}: ` : ""}
            <TextWithCode text={visibleLines(errorText(error))} />
          </FailureLine>
        )}
        <button type="submit" className="visually-hidden" tabIndex={-1} aria-hidden="true">
          {props.action}
        </button>
      </form>
    </Dialog>
  );
}

/** Asks before an irreversible action. A refusal names the automations and sessions that stand against it. */
export function ConfirmDialog(props: {
  title: string;
  note: ReactNode;
  action: string;
  confirm(): Promise<void>;
  onClose(): void;
}) {
  return (
    <ActionDialog
      title={props.title}
      note={props.note}
      action={props.action}
      act={props.confirm}
      onClose={props.onClose}
      renderFailure={(error) => <Refusal error={error} />}
    />
  );
}

function Refusal({ error }: { error: unknown }) {
  const users =
    error instanceof ApiProblem
      ? [
          ...(error.problem.automations ?? []).map((each) => each.name),
          ...(error.problem.sessions ?? []).map((each) => each.title ?? each.id),
        ]
      : [];
  return (
    <>
      <p>
        <TextWithCode text={visibleLines(errorText(error))} />
      </p>
      {users.length > 0 && (
        <ul>
          {users.map((name) => (
            <li key={name}>{visible(name)}</li>
          ))}
        </ul>
      )}
    </>
  );
}

/** A secret that the server shows once. */
export function Secret({ title, secret, onDone }: { title: string; secret: string | null; onDone(): void }) {
  return (
    <Callout kind="waits" title={visible(title)} action={<Button onClick={onDone}>Done</Button>}>
      {secret === null ? (
        "It was made, but the secret was lost in transit. Revoke it and make another one."
      ) : (
        <span className={css.secret}>
          <code>{secret}</code> <Copy text={secret} /> It is shown once.
        </span>
      )}
    </Callout>
  );
}
