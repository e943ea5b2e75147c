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
  /** Takes what was typed when the message waits no longer, or when the person leaves the conversation. */
  onGone(text: string): void;
}

/** A stored text of the message. A save replaces only the version that the person has seen. */
interface Version {
  content: string;
  etag: string | null;
}

async function readVersion(run: string, signal?: AbortSignal): Promise<Version> {
  const { data, etag } = await request<RunView>("GET", `/runs/${run}`, signal ? { signal } : {});
  return { content: data.content, etag };
}

/** Edits a message that waits, in its place in the list. The server refuses the edit once a worker has the message. */
export function EditWaiting({ run, onClose, onGone }: EditWaitingProps) {
  const [opened] = useState(run.content);
  const [typed, setTyped] = useState<string | null>(null);
  const [seen, setSeen] = useState<Version | null>(null);
  /** The text of another person, which was stored after the person here began to type. */
  const [theirs, setTheirs] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const read = useQuery({
    queryKey: ["waiting message", run.id],
    queryFn: ({ signal }) => readVersion(run.id, signal),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  // Only the first version: a refetch would let the save replace a text that the person has not seen.
  if (seen === null && read.data !== undefined) {
    setSeen(read.data);
    if (typed !== null && read.data.content !== opened) setTheirs(read.data.content);
  }
  const text = typed ?? seen?.content ?? opened;

  const isClosed = useRef(false);
  const isGone = useRef(false);
  const close = () => {
    isClosed.current = true;
    onClose();
  };
  const rescue = useRef(() => {});
  rescue.current = () => {
    isGone.current = true;
    if (!isClosed.current && !busy && typed !== null) onGone(typed);
  };
  useEffect(() => {
    isGone.current = false;
    return () => rescue.current();
  }, []);

  const save = async () => {
    if (busy || seen === null || text.trim() === "") return;
    setBusy(true);
    setError(null);
    // Otherwise the field would show the text of another person after a conflict.
    setTyped(text);
    const session = { queryKey: keys.session(run.session_id ?? "") };
    try {
      await request("PATCH", `/runs/${run.id}`, {
        body: { content: text.trim() },
        ...(seen.etag !== null && { ifMatch: seen.etag }),
      });
      isClosed.current = true;
      await queryClient.invalidateQueries(session);
      onClose();
      return;
    } catch (problem) {
      if (isGone.current) return onGone(text);
      if (hasStatus(problem, 412)) {
        try {
          const stored = await readVersion(run.id);
          // The person may have left the conversation during this read, too.
          if (isGone.current) return onGone(text);
          setSeen(stored);
          setTheirs(stored.content);
        } catch (second) {
          if (isGone.current) return onGone(text);
          setError(errorText(second));
        }
      } else {
        if (hasStatus(problem, 409)) queryClient.invalidateQueries(session);
        setError(errorText(problem));
      }
    }
    setBusy(false);
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
  const alert =
    error ??
    (read.error && errorText(read.error)) ??
    (theirs !== null &&
      `Another person has changed this message to: “${theirs}”. Save replaces it with yours.`);
  return (
    <div className={css.editWaiting}>
      <textarea
        aria-label="Waiting message"
        rows={Math.min(6, text.split("\n").length)}
        value={text}
        readOnly={busy}
        // biome-ignore lint/a11y/noAutofocus: the person has asked for this field.
        autoFocus
        onChange={(event) => setTyped(event.target.value)}
        onKeyDown={onKeyDown}
      />
      <Button onClick={close}>Discard</Button>
      <Button kind="primary" busy={busy} disabled={seen === null || text.trim() === ""} onClick={save}>
        Save
      </Button>
      {alert && (
        <p className={css.sendError} role="alert">
          {alert}
        </p>
      )}
    </div>
  );
}
