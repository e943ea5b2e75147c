import { useQuery } from "@tanstack/react-query";
import { type KeyboardEvent, useState } from "react";
import { request } from "../../api/client";
import { hasStatus } from "../../api/problem";
import { keys, queryClient } from "../../api/queries";
import type { OpenRun, RunView } from "../../api/types";
import { Button } from "../../kit/Button";
import { errorText } from "../../kit/ErrorState";
import { toast } from "../../kit/Toast";
import css from "./conversation.module.css";

/** Edits a message that waits, in its place in the list. The server refuses the edit once a worker has the message. */
export function EditWaiting({ run, onClose }: { run: OpenRun; onClose(): void }) {
  const [typed, setTyped] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  // The version that the person sees, so that an edit of another person is not overwritten.
  const seen = useQuery({
    queryKey: [...keys.runs, "edit", run.id],
    queryFn: ({ signal }) => request<RunView>("GET", `/runs/${run.id}`, { signal }),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  const text = typed ?? seen.data?.data.content ?? run.content;
  const save = async () => {
    if (busy || seen.data === undefined || text.trim() === "") return;
    setBusy(true);
    setError(null);
    try {
      const { etag } = seen.data;
      const content = text.trim();
      await request("PATCH", `/runs/${run.id}`, {
        body: { content },
        ...(etag !== null && { ifMatch: etag }),
      });
      await queryClient.invalidateQueries({ queryKey: keys.session(run.session_id ?? "") });
      onClose();
    } catch (problem) {
      if (hasStatus(problem, 409)) {
        // Its turn has begun. Keep the text at hand: the person may want to send it as another message.
        toast(errorText(problem));
        await queryClient.invalidateQueries({ queryKey: keys.session(run.session_id ?? "") });
      }
      setError(
        hasStatus(problem, 412)
          ? "Somebody else has changed this message. Close the edit to see the present text."
          : errorText(problem),
      );
      setBusy(false);
    }
  };
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      save();
    } else if (event.key === "Escape") {
      event.stopPropagation();
      onClose();
    }
  };
  return (
    <div className={css.editWaiting}>
      <textarea
        aria-label="Waiting message"
        rows={Math.min(6, text.split("\n").length)}
        value={text}
        disabled={seen.data === undefined}
        // biome-ignore lint/a11y/noAutofocus: the person has asked for this field.
        autoFocus
        onChange={(event) => setTyped(event.target.value)}
        onKeyDown={onKeyDown}
      />
      <Button onClick={onClose}>Discard</Button>
      <Button
        kind="primary"
        busy={busy}
        disabled={seen.data === undefined || text.trim() === ""}
        onClick={save}
      >
        Save
      </Button>
      {(error ?? (seen.error && errorText(seen.error))) && (
        <p className={css.sendError} role="alert">
          {error ?? errorText(seen.error)}
        </p>
      )}
    </div>
  );
}
