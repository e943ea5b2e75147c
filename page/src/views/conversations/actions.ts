/** Actions on conversations. */
import { apiPath, post, request } from "../../api/client";
import { ApiProblem, hasStatus } from "../../api/problem";
import { keys, queryClient } from "../../api/queries";
import type { BoundAutomation, Session, SessionDeleted, SessionView } from "../../api/types";
import { errorText } from "../../kit/ErrorState";
import { plural, readerZone } from "../../kit/format";
import { toast } from "../../kit/Toast";
import { fileName, saveFrom } from "../save";
import { titleOf } from "./names";

type Named = Pick<Session, "id" | "title" | "session_key">;

export function refetchSession(id: string): void {
  queryClient.invalidateQueries({ queryKey: keys.session(id) });
  queryClient.invalidateQueries({ queryKey: keys.sessions });
}

type Move = "pause" | "resume" | "enable" | "complete" | "archive";

async function move(session: Named, action: Move): Promise<void> {
  const view = await post<SessionView>(`/sessions/${session.id}/${action}`, { body: null });
  queryClient.setQueryData(keys.session(session.id), view);
  refetchSession(session.id);
}

function report(session: Named, error: unknown): void {
  // Another person may have been faster: the page shows the new state.
  if (hasStatus(error, 409)) refetchSession(session.id);
  toast(errorText(error));
}

const DONE: Record<Move, string> = {
  pause: "is paused",
  resume: "is resumed",
  enable: "is enabled",
  complete: "is completed",
  archive: "is archived",
};

const INVERSE: Partial<Record<Move, Move>> = { pause: "resume", resume: "pause" };

/** Moves a conversation to another state. What can be undone gets Undo. */
export async function moveSession(session: Named, action: Move): Promise<void> {
  try {
    await move(session, action);
    const inverse = INVERSE[action];
    toast(`${titleOf(session)} ${DONE[action]}`, inverse ? () => move(session, inverse) : null);
  } catch (error) {
    report(session, error);
  }
}

export async function cancelRuns(session: Named): Promise<void> {
  try {
    const { cancelled } = await post<{ cancelled: number }>(`/sessions/${session.id}/cancel`);
    toast(cancelled === 0 ? "Nothing ran or waited" : `${plural(cancelled, "run")} cancelled`);
    refetchSession(session.id);
  } catch (error) {
    report(session, error);
  }
}

/** Renames a conversation. The edit fails with 412 if the title has changed since `etag` was read. */
export async function renameSession(
  id: string,
  title: string | null,
  etag: string | null,
): Promise<SessionView> {
  const { data } = await request<SessionView>("PATCH", `/sessions/${id}`, {
    body: { title },
    ...(etag === null ? {} : { ifMatch: etag }),
  });
  queryClient.setQueryData(keys.session(id), data);
  refetchSession(id);
  return data;
}

export type Deletion = { deleted: true } | { deleted: false; automations: BoundAutomation[] };

/** Deletes a conversation, or returns the automations that are bound to it. */
export async function deleteSession(id: string, withAutomations: boolean): Promise<Deletion> {
  try {
    await request<SessionDeleted>("DELETE", `/sessions/${id}`, {
      query: withAutomations ? { with_automations: true } : {},
    });
  } catch (error) {
    if (error instanceof ApiProblem && error.status === 409 && error.problem.automations) {
      return { deleted: false, automations: error.problem.automations };
    }
    throw error;
  }
  queryClient.removeQueries({ queryKey: keys.session(id) });
  queryClient.removeQueries({ queryKey: keys.goal(id) });
  queryClient.invalidateQueries({ queryKey: keys.sessions });
  queryClient.invalidateQueries({ queryKey: keys.automations });
  queryClient.invalidateQueries({ queryKey: keys.goals });
  return { deleted: true };
}

export function exportSession(session: Named, format: "markdown" | "jsonl"): void {
  const isMarkdown = format === "markdown";
  const query = { format, zone: isMarkdown ? readerZone() : null };
  saveFrom(
    apiPath(`/sessions/${session.id}/export`, query),
    fileName(titleOf(session), isMarkdown ? "md" : "jsonl"),
  );
}
