import { lazy, Suspense } from "react";
import { useLocation, useSearchParams } from "wouter";
import { usePermission, useSessions } from "../../api/queries";
import { Button } from "../../kit/Button";
import { ErrorState } from "../../kit/ErrorState";
import { EmptyState, Skeleton } from "../../kit/layout";
import { ConversationList } from "./ConversationList";
import css from "./conversations.module.css";

const Conversation = lazy(() => import("./Conversation"));
const NewConversation = lazy(() =>
  import("./NewConversation").then((module) => ({ default: module.NewConversation })),
);

/** The route `/conversations/:id?`. */
export function Conversations({ params }: { params: { id?: string } }) {
  const [search] = useSearchParams();
  const { id } = params;
  if (search.get("new") !== null) {
    return (
      <Suspense fallback={<Skeleton rows={6} />}>
        <NewConversation />
      </Suspense>
    );
  }
  if (id === undefined) return <Start />;
  return (
    <Suspense fallback={<Skeleton rows={6} />}>
      <Conversation key={id} id={id} />
    </Suspense>
  );
}

function Start() {
  const sessions = useSessions();
  const may = usePermission();
  const [, navigate] = useLocation();
  const create = may("sessions:write") && (
    <Button kind="primary" size="large" onClick={() => navigate("/conversations?new=1")}>
      New conversation
    </Button>
  );
  const empty = sessions.data?.items.length === 0;
  return (
    <>
      <div className={css.start}>
        <h1>{empty ? "No conversation yet" : "Conversations"}</h1>
        {sessions.error ? (
          <ErrorState error={sessions.error} onRetry={() => sessions.refetch()} />
        ) : (
          <EmptyState
            text={
              empty
                ? "Talk to an agent. What it learns stays in the conversation, for you and for scheduled runs."
                : "Choose a conversation in the list, or begin another one."
            }
            action={create}
            command="matins session send --new --agent demo &quot;Hello&quot;"
          />
        )}
      </div>
      <div className={css.phoneList}>
        {create}
        <ConversationList />
      </div>
    </>
  );
}
