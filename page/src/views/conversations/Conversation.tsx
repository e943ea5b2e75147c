import { useQuery } from "@tanstack/react-query";
import { X } from "lucide-react";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useLocation, useSearchParams } from "wouter";
import { get } from "../../api/client";
import { hasStatus } from "../../api/problem";
import { keys, useAgents, useApprovals, usePermission, useQuestionsOf, useServer } from "../../api/queries";
import type { Automation, Page, SessionView } from "../../api/types";
import { IconButton } from "../../kit/Button";
import { ErrorState } from "../../kit/ErrorState";
import { EmptyState, Skeleton } from "../../kit/layout";
import { toast } from "../../kit/Toast";
import { useGoalOf } from "../goals/goal-of-session";
import { Composer, useFocusOnOpen } from "./Composer";
import css from "./conversation.module.css";
import { DeleteDialog } from "./DeleteDialog";
import { Header } from "./Header";
import { type Item, isFromPerson, itemsOf, keepEqual, latestPlan, namesOfSeats } from "./items";
import { titleOf } from "./names";
import { requestsOf } from "./requests";
import { SideLine, SidePanel } from "./SidePanel";
import { markSeen } from "./seen";
import { TranscriptView } from "./TranscriptView";
import { type Conversation as Loaded, useConversation } from "./useConversation";

export default function Conversation({ id }: { id: string }) {
  const conversation = useConversation(id);
  const { view, error, refetch, transcript } = conversation;
  if (transcript.deleted || hasStatus(error, 404)) {
    return (
      <div className={css.missing}>
        <EmptyState
          text="This conversation was deleted."
          action={<a href="/conversations">All conversations</a>}
        />
      </div>
    );
  }
  if (view === undefined) {
    return (
      <div className={css.missing}>
        {error ? <ErrorState error={error} onRetry={refetch} /> : <Skeleton rows={8} />}
      </div>
    );
  }
  return <Open key={view.id} conversation={conversation} view={view} />;
}

const useBoundAutomations = (session: string) =>
  useQuery({
    queryKey: [...keys.automations, "of", session],
    queryFn: ({ signal }) =>
      get<Page<Automation>>("/automations", { session, limit: 100, outcomes: 30 }, signal),
  });

const NONE: never[] = [];

function Open({ conversation, view }: { conversation: Loaded; view: SessionView }) {
  const { transcript, runs, loaded, loadOlder, error, refetch } = conversation;
  const [, navigate] = useLocation();
  const [search] = useSearchParams();
  const [panelOpen, setPanelOpen] = useState(false);
  const [deleting, setDeleting] = useState(false);
  const agents = useAgents();
  const server = useServer();
  const automationPage = useBoundAutomations(view.id);
  const automations = automationPage.data?.items ?? NONE;
  const goal = useGoalOf(view);
  const mayReadRequests = usePermission()("approvals:read");
  const approvals = useApprovals(mayReadRequests).data?.items ?? NONE;
  const questions = useQuestionsOf(view.id, mayReadRequests).data?.items ?? NONE;
  const requests = useMemo(() => requestsOf(view.id, approvals, questions), [view.id, approvals, questions]);
  const shown = useRef<Item[]>([]);
  const seats = useMemo(() => namesOfSeats(view.seats), [view.seats]);
  const items = useMemo(() => {
    shown.current = keepEqual(shown.current, itemsOf(transcript, runs, undefined, seats));
    return shown.current;
  }, [transcript, runs, seats]);
  const plan = useMemo(() => latestPlan(transcript), [transcript]);
  const sent = useMemo(
    () => transcript.rows.filter(isFromPerson).map((row) => row.content),
    [transcript.rows],
  );
  const entry = view.seats.find((seat) => seat.is_entry);
  const agent = agents.data?.items.find((each) => each.id === entry?.agent_id)?.name ?? "the agent";
  const lastRun = useMemo(() => {
    const started = [...runs.values()].filter((run) => run.started_at !== null);
    return started.reduce<(typeof started)[number] | null>(
      (last, run) => (last === null || (run.started_at ?? "") > (last.started_at ?? "") ? run : last),
      null,
    );
  }, [runs]);
  useFocusOnOpen(view.id);
  useEffect(() => {
    if (document.visibilityState === "visible") markSeen(view.id, view.updated_at);
  }, [view.id, view.updated_at]);
  useEffect(() => {
    document.title = `${titleOf(view)} · Matins`;
  }, [view]);

  // A link may name a run or a row.
  const linkedRun = search.get("run");
  const linkedSeq = Number(search.get("at") ?? Number.NaN);
  const startAt = useMemo(() => {
    const row = transcript.rows.find((each) => each.run_id === linkedRun || each.seq === linkedSeq);
    const index = row === undefined ? -1 : items.findIndex((item) => "row" in item && item.row.id === row.id);
    return index < 0 ? null : index;
  }, [items, transcript.rows, linkedRun, linkedSeq]);

  // All but the transcript is drawn again only when it changes, because live text comes up to 60 times a second.
  const askDelete = useCallback(() => setDeleting(true), []);
  const openPanel = useCallback(() => setPanelOpen(true), []);
  const togglePanel = useCallback(() => setPanelOpen((open) => !open), []);
  const side = {
    view,
    automations,
    requests,
    plan,
    rows: transcript.rows,
    lastRun,
    unified: server.data?.unified_session ?? false,
  };
  return (
    <div className={css.conversation} data-panel={panelOpen}>
      <Header
        view={view}
        goal={goal}
        agent={agent}
        waitsForYou={requests.length > 0}
        onDelete={askDelete}
        onPanel={togglePanel}
      />
      <div className={css.body}>
        <div className={css.talk}>
          <SideLine {...side} onOpen={openPanel} />
          {error !== null && (
            <div className={css.column}>
              <ErrorState error={error} onRetry={refetch} />
            </div>
          )}
          {loaded && items.length === 0 && (
            <div className={css.fill}>
              <EmptyState text={`Nothing was said here yet. ${agent} starts with the first message.`} />
            </div>
          )}
          {!loaded && error === null && (
            <div className={css.fill}>
              <Skeleton rows={6} />
            </div>
          )}
          {loaded && items.length > 0 && (
            <TranscriptView
              items={items}
              automations={automations}
              hasOlder={transcript.hasOlder}
              onOlder={loadOlder}
              startAt={startAt}
            />
          )}
          <div className={css.column}>
            <Composer
              view={view}
              goal={goal ?? null}
              agent={agent}
              requests={requests}
              automations={automations}
              sent={sent}
            />
          </div>
        </div>
        <aside className={css.side} aria-label="Details of the conversation">
          <IconButton label="Close" className={css.sideClose} onClick={() => setPanelOpen(false)}>
            <X size={16} aria-hidden />
          </IconButton>
          <SidePanel {...side} />
        </aside>
      </div>
      {deleting && (
        <DeleteDialog
          view={view}
          goal={goal ?? null}
          automations={automations}
          onClose={() => setDeleting(false)}
          onDeleted={() => {
            setDeleting(false);
            toast(`${titleOf(view)} is deleted`);
            navigate("/conversations", { replace: true });
          }}
        />
      )}
    </div>
  );
}
