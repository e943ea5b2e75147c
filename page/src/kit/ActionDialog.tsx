import { type ReactNode, useState } from "react";
import { Button } from "./Button";
import { Dialog } from "./Dialog";
import { errorText, FailureLine } from "./ErrorState";

export interface ActionDialogProps {
  title: string;
  note: ReactNode;
  /** The word of the button, such as "Delete". */
  action: string;
  kind?: "ordinary" | "primary" | "danger";
  /** The word of the button that closes the dialog and does nothing. */
  dismiss?: string;
  disabled?: boolean;
  act(): Promise<void>;
  onClose(): void;
  /** Called in place of `onClose` when a person closes the dialog without the action. */
  onDismiss?(): void;
  /** Shows an error in another way than as its text. */
  renderFailure?(error: unknown): ReactNode;
  /** Says why a failed action can never succeed; null if it may. The dialog has Close alone then. */
  ended?(error: unknown): string | null;
  children?: ReactNode;
}

/**
 * Asks before an action. The dialog closes when the action succeeds, and shows the failure otherwise. Its title and its
 * note stay as they were when it opened, so that no live refresh changes the question under the pointer.
 */
export function ActionDialog(props: ActionDialogProps) {
  const { action, kind = "danger", dismiss = "Keep", disabled, onClose, renderFailure = errorText } = props;
  const { onDismiss = onClose } = props;
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const ended = error === null ? null : (props.ended?.(error) ?? null);
  const [shown] = useState({ title: props.title, note: props.note });
  const act = async () => {
    setBusy(true);
    setError(null);
    try {
      await props.act();
      onClose();
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  };
  return (
    <Dialog
      open
      onClose={onDismiss}
      title={shown.title}
      note={shown.note}
      foot={
        ended !== null ? (
          <Button onClick={onClose}>Close</Button>
        ) : (
          <>
            <Button onClick={onDismiss}>{dismiss}</Button>
            <Button kind={kind} busy={busy} disabled={disabled} onClick={act}>
              {action}
            </Button>
          </>
        )
      }
    >
      {props.children}
      {error !== null && <FailureLine>{ended ?? renderFailure(error)}</FailureLine>}
    </Dialog>
  );
}
