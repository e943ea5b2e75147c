import { type FormEvent, useEffect, useRef, useState } from "react";
import { type Result, request } from "../../api/client";
import { hasStatus } from "../../api/problem";
import type { SessionView } from "../../api/types";
import { Button } from "../../kit/Button";
import { Dialog } from "../../kit/Dialog";
import { errorText } from "../../kit/ErrorState";
import { toast } from "../../kit/Toast";
import { useKey } from "../../shell/keys";
import { renameSession } from "./actions";
import css from "./conversation.module.css";
import { titleOf } from "./names";

/** The title of a conversation, which a person edits in its place. */
export function Title({ view, disabled }: { view: SessionView; disabled: boolean }) {
  const [editing, setEditing] = useState(false);
  /** The text of an edit that is not saved; null if there is none. */
  const [text, setText] = useState<string | null>(null);
  const [conflict, setConflict] = useState<string | null>(null);
  /** The title as the edit found it. A rename by another person must not change the text under a person's hands. */
  const before = useRef("");
  const read = useRef<Promise<Result<SessionView>> | null>(null);
  const input = useRef<HTMLInputElement>(null);
  const leave = useRef(false);
  /** The number of edits, so that the end of a rename leaves an edit alone that has begun meanwhile. */
  const edits = useRef(0);
  useEffect(() => {
    if (editing) input.current?.select();
  }, [editing]);
  /** Reads the tag of the title as it is now, so that a change by another person is not overwritten. */
  const follow = (title: string) => {
    read.current = request<SessionView>("GET", `/sessions/${view.id}`);
    read.current.catch(() => undefined);
    before.current = title;
  };
  const begin = () => {
    follow(view.title ?? "");
    edits.current += 1;
    leave.current = false;
    setText((unsaved) => unsaved ?? before.current);
    setEditing(true);
  };
  useKey("e", () => !disabled && begin());
  const showConflict = (stored: Result<SessionView>, title: string) => {
    read.current = Promise.resolve(stored);
    // Ends an edit that began after this rename. The dialog has its text.
    leave.current = true;
    setEditing(false);
    setText((unsaved) => unsaved ?? title);
    setConflict(stored.data.title ?? "");
  };
  const rename = async (title: string) => {
    const edit = edits.current;
    try {
      const stored = await read.current;
      // The title has changed before the edit began, but the page did not know it yet.
      if (stored && (stored.data.title ?? "") !== before.current) return showConflict(stored, title);
      await renameSession(view.id, title === "" ? null : title, stored?.etag ?? null);
      if (edits.current === edit) setText(null);
      else follow(title);
    } catch (error) {
      const stored = hasStatus(error, 412)
        ? await request<SessionView>("GET", `/sessions/${view.id}`).catch(() => null)
        : null;
      if (stored) showConflict(stored, title);
      else toast(errorText(error));
    }
  };
  const save = (event?: FormEvent) => {
    event?.preventDefault();
    if (leave.current) return;
    leave.current = true;
    setEditing(false);
    const title = text?.trim() ?? before.current;
    if (title === before.current) setText(null);
    else void rename(title);
  };
  if (conflict !== null) {
    const close = () => {
      setConflict(null);
      setText(null);
    };
    return (
      <Dialog
        open
        onClose={close}
        title="The title has changed meanwhile"
        note="Another person has renamed this conversation."
        foot={
          <>
            <Button onClick={close}>Keep theirs</Button>
            <Button
              kind="primary"
              onClick={() => {
                setConflict(null);
                before.current = conflict;
                if (text !== null) void rename(text.trim());
              }}
            >
              Use mine
            </Button>
          </>
        }
      >
        <dl className={css.versions}>
          <dt>Theirs</dt>
          <dd>{conflict || "no title"}</dd>
          <dt>Yours</dt>
          <dd>{text}</dd>
        </dl>
      </Dialog>
    );
  }
  if (editing) {
    return (
      <form onSubmit={save} className={css.titleForm}>
        <input
          ref={input}
          aria-label="Title"
          value={text ?? ""}
          maxLength={200}
          onChange={(event) => setText(event.target.value)}
          onBlur={() => save()}
          onKeyDown={(event) => {
            if (event.key === "Escape") {
              leave.current = true;
              setText(null);
              setEditing(false);
            }
          }}
        />
      </form>
    );
  }
  return (
    <h1 className={css.title}>
      <button type="button" disabled={disabled} title={disabled ? undefined : "Rename"} onClick={begin}>
        {titleOf(view)}
      </button>
    </h1>
  );
}
