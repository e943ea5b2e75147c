import type { Session } from "../../api/types";
import { shortId } from "../../kit/format";

/** The name of a conversation in lists: its title, else its key, else the end of its ID. */
export function titleOf(session: Pick<Session, "id" | "title" | "session_key">): string {
  if (session.title) return session.title;
  return `Conversation ${shortId(session.id)}`;
}
