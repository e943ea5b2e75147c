import { Plus } from "lucide-react";
import { memo, useSyncExternalStore } from "react";
import { Link, useLocation, useRoute } from "wouter";
import { useApprovals, usePermission, useQuestions, useSessions } from "../../api/queries";
import type { Session, SessionItem } from "../../api/types";
import { IconButton } from "../../kit/Button";
import { EmptyState, Skeleton } from "../../kit/layout";
import { type Look, lookOfRun, lookOfSession, StatusGlyph, wordOf } from "../../kit/Status";
import { Time } from "../../kit/Time";
import { VirtualList } from "../../kit/VirtualList";
import { useKey } from "../../shell/keys";
import css from "./list.module.css";
import { titleOf } from "./names";
import { onSeen, seenAt } from "./seen";

const ROW_HEIGHT = matchMedia("(max-width: 640px)").matches ? 44 : 36;
/** With a second line for the state or the last message. */
const TALL_ROW_HEIGHT = 48;

/** The conversations, the latest change first. */
export function ConversationList() {
  const sessions = useSessions();
  const may = usePermission();
  const mayReadRequests = may("approvals:read");
  const approvals = useApprovals(mayReadRequests);
  const questions = useQuestions(mayReadRequests);
  const [, navigate] = useLocation();
  const [, parameters] = useRoute("/conversations/:id");
  const seen = useSyncExternalStore(onSeen, seenAt);
  const canCreate = may("sessions:write");
  useKey("n", () => canCreate && navigate("/conversations?new=1"));
  const items = sessions.data?.items ?? [];
  const asking = new Map<string, string>();
  for (const question of questions.data?.items ?? []) asking.set(question.session_id, "has a question");
  for (const approval of approvals.data?.items ?? []) asking.set(approval.session_id, "asks for permission");
  const rowOf = (session: SessionItem): Shown => {
    const asks = asking.get(session.id);
    const look = lookOfItem(session, asks !== undefined);
    return { look, second: asks ?? secondLine(session, look) };
  };
  const move = (step: number) => {
    const index = items.findIndex((session) => session.id === parameters?.id);
    const next = items[Math.max(0, Math.min(items.length - 1, index + step))];
    if (next) navigate(`/conversations/${next.id}`);
  };
  useKey("j", () => move(1), true);
  useKey("k", () => move(-1), true);
  return (
    <section className={css.list} aria-labelledby="conversations-heading">
      <header>
        <h2 id="conversations-heading">Conversations</h2>
        {canCreate && (
          <IconButton label="New conversation" onClick={() => navigate("/conversations?new=1")}>
            <Plus size={16} aria-hidden />
          </IconButton>
        )}
      </header>
      {sessions.isPending && <Skeleton rows={6} />}
      {sessions.data && items.length === 0 && <EmptyState text="No conversation yet." />}
      {items.length > 0 && (
        <VirtualList
          items={items}
          rowHeight={(session) => (rowOf(session).second === "" ? ROW_HEIGHT : TALL_ROW_HEIGHT)}
          keyOf={(session) => session.id}
          label="Conversations"
          className={css.rows ?? ""}
          render={(session) => (
            <ListRow
              session={session}
              {...rowOf(session)}
              current={parameters?.id === session.id}
              unread={parameters?.id !== session.id && isUnread(session, seen)}
            />
          )}
        />
      )}
    </section>
  );
}

/** `true` if the conversation has changed since this browser showed it. Without a note of it, nothing is claimed. */
export function isUnread(session: Session, seen: Record<string, string>): boolean {
  const at = seen[session.id];
  return at !== undefined && session.updated_at > at;
}

/** What a person must see of a conversation: a question, a turn at work, a state, or a last turn without success. */
export function lookOfItem(session: SessionItem, asks: boolean): Look | null {
  if (asks) return "waits";
  const last = session.last_run?.status;
  if (last === "running") return "running";
  const state = lookOfSession(session.state);
  return state ?? (last === undefined || last === "succeeded" ? null : lookOfRun({ status: last }));
}

/** The words beside the glyph: the last message, unless the state or the removal of the instance says more. */
export function secondLine(session: SessionItem, look: Look | null): string {
  if (session.removed_instance != null) return `its instance ${session.removed_instance} was removed`;
  const message = session.last_message?.text;
  if (look === "failed" || look === "stalled") return session.last_run?.message ?? wordOf(look);
  return message ?? (look ? wordOf(look) : "");
}

interface Shown {
  look: Look | null;
  /** The second line. Empty if there is none. */
  second: string;
}

const ListRow = memo(function ListRow(
  props: Shown & { session: SessionItem; current: boolean; unread: boolean },
) {
  const { session, look, second, current, unread } = props;
  return (
    <Link
      href={`/conversations/${session.id}`}
      className={css.row}
      aria-current={current ? "page" : undefined}
      data-unread={unread}
    >
      <span className={css.first}>
        <span className="truncate">{titleOf(session)}</span>
        {unread && <i role="img" aria-label="unread" />}
        <Time at={session.updated_at} />
      </span>
      {second !== "" && (
        <span className={css.second} data-look={look} data-removed={session.removed_instance != null}>
          {look && <StatusGlyph look={look} size={12} title={wordOf(look)} />}
          <span className="truncate">{second}</span>
        </span>
      )}
    </Link>
  );
});
