import { useQuery } from "@tanstack/react-query";
import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { request } from "../../api/client";
import { hasStatus } from "../../api/problem";
import { keys, queryClient } from "../../api/queries";
import type { OpenRun, RunView } from "../../api/types";
import { Button } from "../../kit/Button";
import { errorText } from "../../kit/ErrorState";
import css from "./conversation.module.css";

interface EditWaitingProps {
  run: OpenRun;
  onClose(): void;
  /** Takes what was typed when the message waits no longer, so that the list has no place for it. */
  onGone(text: string): void;
}

/** Edits a message that waits, in its place in the list. The server refuses the edit once a worker has the message. */
export function EditWaiting({ run, onClose, onGone }: EditWaitingProps) {
  const [typed, setTyped] = useState<string | null>(null);
  const isClosed = useRef(false);
  const close = () => {
    isClosed.current = true;
    onClose();
  };
  const rescue = useRef(() => {});
  rescue.current = () => {
    if (!isClosed.current && typed !== null) onGone(typed);
  };
  useEffect(() => () => rescue.current(), []);
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
      isClosed.current = true;
      await queryClient.invalidateQueries({ queryKey: keys.session(run.session_id ?? "") });
      onClose();
    } catch (problem) {
      if (hasStatus(problem, 409))
        queryClient.invalidateQueries({ queryKey: keys.session(run.session_id ?? "") });
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
      close();
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
      <Button onClick={close}>Discard</Button>
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
