import type { Session } from "../../api/types";
import { shortId } from "../../kit/format";
import { visible } from "../../kit/visible";

/** The name of a conversation in lists: its title, else its key, else the end of its ID. */
export function titleOf(session: Pick<Session, "id" | "title" | "session_key">): string {
  if (session.title) return visible(session.title);
  return `Conversation ${shortId(session.id)}`;
}

const MAX_TITLE = 60;

/** The first line of the message, as the title until somebody gives a better one. */
export function titleFrom(text: string): string {
  const line = text.trim().split("\n", 1)[0] ?? "";
  if (line.length <= MAX_TITLE) return line;
  const cut = line.slice(0, MAX_TITLE);
  const space = cut.lastIndexOf(" ");
  return `${space > MAX_TITLE / 2 ? cut.slice(0, space) : cut}…`;
}
