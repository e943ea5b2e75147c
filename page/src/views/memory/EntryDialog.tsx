import { type ReactNode, useEffect, useRef, useState } from "react";
import { ApiProblem } from "../../api/problem";
import type { MemoryEntry } from "../../api/types";
import { Button } from "../../kit/Button";
import { Dialog } from "../../kit/Dialog";
import { errorText, FailureLine, sentence } from "../../kit/ErrorState";
import { callerName, dayAndTime, readerZone } from "../../kit/format";
import { Field, TextField } from "../../kit/layout";
import { StoredVersion } from "../../kit/StoredVersion";
import { toast } from "../../kit/Toast";
import { unreadField } from "../../kit/unread-field";
import { EntryChanged, writeEntry } from "./actions";
import {
  addressProblem,
  differingFields,
  type EntryForm,
  type FormField,
  formField,
  formOfEntry,
  type MemoryOwner,
  requestOfForm,
} from "./entries";
import css from "./memory.module.css";

const LABELS: Record<FormField, string> = {
  key: "Key",
  value: "Value",
  confidence: "Confidence",
  expires: "Expires",
};

interface Failure {
  field: FormField | null;
  text: string;
}

/** Adds an entry, or edits one. If it has changed meanwhile, the dialog shows the stored version beside the form. */
export function EntryDialog(props: { owner: MemoryOwner; entry: MemoryEntry | null; onClose(): void }) {
  const { owner, onClose } = props;
  // A refetch must not change the form under a person's hands.
  const [opened] = useState(props.entry);
  const [seen, setSeen] = useState(opened);
  const [changed, setChanged] = useState(false);
  const [form, setForm] = useState(() => formOfEntry(opened));
  const [failure, setFailure] = useState<Failure | null>(null);
  const [busy, setBusy] = useState(false);
  const fields = useRef<HTMLFormElement>(null);
  const isNew = opened === null;
  useEffect(() => {
    if (failure?.field == null) return;
    fields.current?.querySelector<HTMLElement>(`[name="${failure.field}"]`)?.focus();
  }, [failure]);
  const set = (field: FormField, value: string) => {
    setForm((now) => ({ ...now, [field]: value }));
    if (failure?.field === field) setFailure(null);
    // Another key is another entry, of which nothing was read yet.
    if (field === "key" && changed) {
      setSeen(null);
      setChanged(false);
    }
  };
  const save = async () => {
    if (busy) return;
    const key = form.key.trim();
    const problem = key === "" ? "An entry needs a key" : addressProblem(key);
    if (problem !== null) return setFailure({ field: "key", text: sentence(problem) });
    const unread = unreadField(fields.current);
    if (unread === "confidence") return setFailure({ field: unread, text: "It is a number from 0 to 1." });
    if (unread === "expires")
      return setFailure({ field: unread, text: "The date or the time is incomplete." });
    setBusy(true);
    setFailure(null);
    try {
      await writeEntry(owner, key, requestOfForm(form, seen), seen);
      toast(`“${key}” is ${isNew ? "added" : "saved"}`);
      onClose();
      return;
    } catch (error) {
      if (error instanceof EntryChanged) {
        setSeen(error.stored);
        setChanged(true);
      } else {
        const field = error instanceof ApiProblem ? formField(error.problem.field) : null;
        setFailure({ field, text: errorText(error) });
      }
    }
    setBusy(false);
  };
  const errorOf = (field: FormField) => (failure?.field === field ? failure.text : null);
  return (
    <Dialog
      open
      onClose={onClose}
      title={isNew ? "Add an entry" : `Edit “${opened.key}”`}
      note={
        isNew
          ? "A fact that the agent finds in later turns. Keep no secrets here."
          : "You become the author, so that later turns do not doubt it."
      }
      foot={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" busy={busy} onClick={save}>
            {changed ? (seen === null ? "Write it again" : "Replace it") : isNew ? "Add" : "Save"}
          </Button>
        </>
      }
    >
      <form
        ref={fields}
        className={css.form}
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        {changed && (
          <Stored
            isNew={isNew}
            form={form}
            stored={seen}
            onTake={(field) => seen && set(field, formOfEntry(seen)[field])}
          />
        )}
        {isNew && (
          <Field
            label={LABELS.key}
            name="key"
            value={form.key}
            autoComplete="off"
            error={errorOf("key")}
            onChange={(event) => set("key", event.target.value)}
          />
        )}
        <TextField
          label={LABELS.value}
          name="value"
          rows={6}
          value={form.value}
          note="Plain text, at most 16 KiB"
          error={errorOf("value")}
          onChange={(event) => set("value", event.target.value)}
        />
        <div className={css.pair}>
          <Field
            label={LABELS.confidence}
            name="confidence"
            type="number"
            min={0}
            max={1}
            step={0.05}
            value={form.confidence}
            note="From 0 to 1"
            error={errorOf("confidence")}
            onChange={(event) => set("confidence", event.target.value)}
          />
          <Field
            label={LABELS.expires}
            name="expires"
            type="datetime-local"
            value={form.expires}
            note={`Empty: never. In ${readerZone()}`}
            error={errorOf("expires")}
            onChange={(event) => set("expires", event.target.value)}
          />
        </div>
        {failure?.field === null && <FailureLine>{failure.text}</FailureLine>}
        <button type="submit" className="visually-hidden" tabIndex={-1} aria-hidden="true">
          Save
        </button>
      </form>
    </Dialog>
  );
}

/** The stored version of an entry that another person or an agent has changed, field by field. */
function Stored(props: {
  isNew: boolean;
  form: EntryForm;
  stored: MemoryEntry | null;
  onTake(field: FormField): void;
}) {
  const { isNew, form, stored, onTake } = props;
  if (stored === null) return <StoredVersion title="It was deleted since you opened it." />;
  const values: Record<FormField, ReactNode> = {
    key: stored.key,
    value: <pre>{stored.value}</pre>,
    confidence: stored.confidence,
    expires: stored.expires_at === null ? "never" : dayAndTime(stored.expires_at),
  };
  const fields = differingFields(form, stored);
  return (
    <StoredVersion
      title={isNew ? "There is an entry with this key." : "It has changed since you opened it."}
      note={`Stored by ${callerName(stored.author)}, ${dayAndTime(stored.updated_at)}. Your version is below.${fields.length === 0 ? " Both are the same now." : ""}`}
      fields={fields.map((name) => ({ name, label: LABELS[name], value: values[name] }))}
      onTake={onTake}
    />
  );
}
