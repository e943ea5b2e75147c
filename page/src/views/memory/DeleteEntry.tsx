import { hasStatus } from "../../api/problem";
import type { MemoryEntry } from "../../api/types";
import { ActionDialog } from "../../kit/ActionDialog";
import { toast } from "../../kit/Toast";
import { removeEntry } from "./actions";
import type { MemoryOwner } from "./entries";

/** Asks before the entry of an agent goes, because a person cannot write it again as the agent's. */
export function DeleteEntry(props: { owner: MemoryOwner; entry: MemoryEntry; onClose(): void }) {
  const { owner, entry, onClose } = props;
  const remove = async () => {
    try {
      await removeEntry(owner, entry.key);
    } catch (problem) {
      // Another person has deleted it already.
      if (!hasStatus(problem, 404)) throw problem;
    }
    toast(`“${entry.key}” is deleted`);
  };
  return (
    <ActionDialog
      title={`Delete “${entry.key}”?`}
      note={`Later turns no longer find it. ${entry.author} wrote it in a run, so it cannot be restored as it is.`}
      action="Delete"
      act={remove}
      onClose={onClose}
    />
  );
}
