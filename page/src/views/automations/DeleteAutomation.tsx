import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { get, request } from "../../api/client";
import { keys, queryClient } from "../../api/queries";
import type { AutomationDeleted, AutomationView, Page, Session } from "../../api/types";
import { ActionDialog } from "../../kit/ActionDialog";
import { plural } from "../../kit/format";
import { toast } from "../../kit/Toast";
import css from "./automations.module.css";

const COUNTED = 500;

/** Deletes an automation. Its sessions stay unless the person chooses otherwise. */
export function DeleteAutomation(props: { automation: AutomationView; onClose(): void; onDeleted(): void }) {
  // A refetch must not change the dialog under the pointer.
  const [automation] = useState(props.automation);
  const [withSessions, setWithSessions] = useState(false);
  const sessions = useQuery({
    queryKey: [...keys.automations, "count-sessions", automation.id],
    queryFn: ({ signal }) =>
      get<Page<Session>>(`/automations/${automation.id}/sessions`, { limit: COUNTED }, signal),
  });
  const number = sessions.data?.items.length ?? 0;
  const words = `${plural(number, "session")}${sessions.data?.next != null ? " and more" : ""}`;
  const remove = async () => {
    const { data } = await request<AutomationDeleted>("DELETE", `/automations/${automation.id}`, {
      query: withSessions ? { with_sessions: true } : {},
    });
    queryClient.removeQueries({ queryKey: [...keys.automations, "one", automation.name] });
    queryClient.invalidateQueries({ queryKey: keys.automations });
    queryClient.invalidateQueries({ queryKey: keys.overview });
    const kept = data.sessions_kept.length;
    toast(
      `${data.name} is deleted${withSessions ? `, with ${plural(data.sessions_deleted, "session")}` : ""}${
        kept > 0 ? `. ${plural(kept, "session")} stayed, because other automations speak there` : ""
      }`,
    );
    props.onDeleted();
  };
  return (
    <ActionDialog
      title={`Delete ${automation.name}?`}
      note="Its triggers and its settings go for good. Its runs stay in the list of runs."
      action={withSessions && number > 0 ? `Delete automation and ${words}` : "Delete automation"}
      disabled={sessions.data === undefined}
      act={remove}
      onClose={props.onClose}
    >
      {number > 0 && (
        <fieldset className={css.choice}>
          <legend className="visually-hidden">Its sessions</legend>
          <label>
            <input type="radio" checked={!withSessions} onChange={() => setWithSessions(false)} /> Keep{" "}
            {words}
          </label>
          <label>
            <input type="radio" checked={withSessions} onChange={() => setWithSessions(true)} /> Delete{" "}
            {words}, with their transcripts
          </label>
        </fieldset>
      )}
    </ActionDialog>
  );
}
