import { useState } from "react";
import type { Automation, BoundAutomation, Goal, SessionView } from "../../api/types";
import { Button } from "../../kit/Button";
import { Dialog } from "../../kit/Dialog";
import { errorText, FailureLine } from "../../kit/ErrorState";
import { dayAndTime, plural } from "../../kit/format";
import { StatusGlyph } from "../../kit/Status";
import { visible } from "../../kit/visible";
import { deleteSession } from "./actions";
import css from "./conversation.module.css";
import { deletionText } from "./head";
import { titleOf } from "./names";
import { lookOfAutomation } from "./SidePanel";

export interface DeleteDialogProps {
  /** As it was when the dialog opened. */
  view: SessionView;
  goal: Goal | null;
  automations: Automation[];
  onClose(): void;
  onDeleted(): void;
}

/** Deletes a conversation in two steps: the second one names the automations that cannot run without it. */
export function DeleteDialog({ view, goal, automations, onClose, onDeleted }: DeleteDialogProps) {
  const [bound, setBound] = useState<BoundAutomation[] | null>(null);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  // A refetch must not change the dialog under the pointer.
  const [shown] = useState({ view, goal, automations });
  const remove = async (withAutomations: boolean) => {
    setBusy(true);
    setError(null);
    try {
      const result = await deleteSession(shown.view.id, withAutomations);
      if (result.deleted) onDeleted();
      else setBound(result.automations);
    } catch (problem) {
      setError(errorText(problem));
    } finally {
      setBusy(false);
    }
  };
  const name = titleOf(shown.view);
  const open = shown.view.open_runs.length;
  const path = shown.view.cwd ?? shown.view.own_folder;
  const kept = (
    <p className={css.dialogSmall}>
      Stays: {path ? <code>{path}</code> : "the folder of the session"} and the files of the agent.
    </p>
  );
  const failed = error && <FailureLine>{error}</FailureLine>;
  if (bound === null) {
    return (
      <Dialog
        key="first"
        open
        onClose={onClose}
        title={`Delete “${name}”?`}
        note={deletionText(shown.goal)}
        foot={
          <>
            <Button onClick={onClose}>Keep</Button>
            <Button kind="danger" busy={busy} onClick={() => remove(false)}>
              {shown.goal === null ? "Delete conversation" : "Delete conversation and goal"}
            </Button>
          </>
        }
      >
        {open > 0 && <p>{plural(open, "run")} will be cancelled.</p>}
        {kept}
        {failed}
      </Dialog>
    );
  }
  const number = plural(bound.length, "automation");
  return (
    <Dialog
      key="second"
      open
      onClose={onClose}
      title={`Delete “${name}”${shown.goal === null ? "" : ", its goal"} and ${number}?`}
      note={`${bound.length === 1 ? "It speaks" : "They speak"} in this conversation and cannot run without it.`}
      foot={
        <>
          <Button onClick={onClose}>Keep</Button>
          <Button kind="danger" busy={busy} onClick={() => remove(true)}>
            Delete conversation{shown.goal === null ? "" : ", goal"} and {number}
          </Button>
        </>
      }
    >
      <ul className={css.boundList}>
        {bound.map((each) => (
          <BoundRow
            key={each.id}
            bound={each}
            automation={shown.automations.find((automation) => automation.id === each.id)}
            view={shown.view}
          />
        ))}
      </ul>
      {kept}
      {failed}
    </Dialog>
  );
}

function BoundRow(props: { bound: BoundAutomation; automation: Automation | undefined; view: SessionView }) {
  const { bound, automation, view } = props;
  const own = view.open_runs.filter((run) => run.automation_id === bound.id);
  const running = own.some((run) => run.status === "running");
  const state = running
    ? "its run is cancelled"
    : own.length > 0
      ? `${plural(own.length, "run")} ${own.length === 1 ? "waits" : "wait"}`
      : bound.enabled
        ? ""
        : "paused";
  const next = automation?.next_run;
  const last = automation && lookOfAutomation(automation, own, false);
  const look = last ?? (bound.enabled ? "queued" : "paused");
  return (
    <li>
      <StatusGlyph look={look} />
      <strong>{visible(bound.name)}</strong>
      <span>{state}</span>
      <span>
        {bound.enabled && next ? `next ${dayAndTime(next.at)}` : bound.enabled ? "" : "no next run"}
      </span>
    </li>
  );
}
