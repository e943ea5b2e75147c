import { useState } from "react";
import { hasStatus } from "../../api/problem";
import type { MemoryEntry } from "../../api/types";
import { Button } from "../../kit/Button";
import { Dialog } from "../../kit/Dialog";
import { errorText } from "../../kit/ErrorState";
import { toast } from "../../kit/Toast";
import { removeEntry } from "./actions";
import type { MemoryOwner } from "./entries";
import css from "./memory.module.css";

/** Asks before the entry of an agent goes, because a person cannot write it again as the agent's. */
export function DeleteEntry(props: { owner: MemoryOwner; entry: MemoryEntry; onClose(): void }) {
  const { owner, entry, onClose } = props;
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const remove = async () => {
    setBusy(true);
    setError(null);
    try {
      await removeEntry(owner, entry.key);
      toast(`“${entry.key}” is deleted`);
      onClose();
    } catch (problem) {
      // Another person has deleted it.
      if (hasStatus(problem, 404)) onClose();
      setError(errorText(problem));
      setBusy(false);
    }
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Delete “${entry.key}”?`}
      note={`Later turns no longer find it. ${entry.author} wrote it in a run, so it cannot be restored as it is.`}
      foot={
        <>
          <Button onClick={onClose}>Keep</Button>
          <Button kind="danger" busy={busy} onClick={remove}>
            Delete
          </Button>
        </>
      }
    >
      {error && (
        <p className={css.failure} role="alert">
          {error}
        </p>
      )}
    </Dialog>
  );
}
