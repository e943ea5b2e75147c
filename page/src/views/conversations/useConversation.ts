/** Loads a conversation and follows its trace. */
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { startTransition, useCallback, useEffect, useMemo, useReducer, useRef, useState } from "react";
import { get } from "../../api/client";
import { keys } from "../../api/queries";
import type { Message, Messages, Page, Run, SessionView, TraceEvent } from "../../api/types";
import { subscribe } from "../../live/client";
import { backoffMs } from "../../live/stream";
import { isRefusal } from "../../shell/reach";
import { applyEvent, EMPTY, mergeRows, setLiveText, setRows, type Transcript } from "./transcript";

const PAGE = 200;

type Action =
  | { kind: "loaded"; rows: Message[]; hasOlder: boolean }
  | { kind: "older"; rows: Message[]; hasOlder: boolean }
  | { kind: "events"; events: TraceEvent[] }
  | { kind: "text"; run: string; text: string; end: number };

function reduce(state: Transcript, action: Action): Transcript {
  switch (action.kind) {
    case "loaded":
      return setRows(state, action.rows, action.hasOlder);
    case "older":
      return setRows(state, mergeRows(state.rows, action.rows), action.hasOlder);
    case "events":
      return action.events.reduce(applyEvent, state);
    case "text":
      return setLiveText(state, action.run, action.text, action.end);
  }
}

/** Returns the rows before `first`, the oldest first. */
async function rowsBefore(session: string, first: number): Promise<{ rows: Message[]; hasOlder: boolean }> {
  const page = await get<Messages>(`/sessions/${session}/messages`, { before: first, limit: PAGE });
  return { rows: page.items, hasOlder: page.previous !== null };
}

export interface Conversation {
  view: SessionView | undefined;
  error: unknown;
  refetch(): void;
  transcript: Transcript;
  runs: ReadonlyMap<string, Run>;
  loaded: boolean;
  loadOlder(): void;
}

export function useConversation(id: string): Conversation {
  const client = useQueryClient();
  const [transcript, dispatch] = useReducer(reduce, EMPTY);
  const [loaded, setLoaded] = useState(false);
  const [loadError, setLoadError] = useState<unknown>(null);
  const [attempt, setAttempt] = useState(0);
  const view = useQuery({
    queryKey: keys.session(id),
    queryFn: ({ signal }) => get<SessionView>(`/sessions/${id}`, {}, signal),
    placeholderData: keepPreviousData,
  });
  const current = view.data?.id === id ? view.data : undefined;
  const [runPages, setRunPages] = useState(1);
  const runList = useQuery({
    queryKey: [...keys.session(id), "runs", runPages],
    queryFn: async ({ signal }) => {
      const items: Run[] = [];
      let after: string | null = null;
      for (let page = 0; page < runPages; page += 1) {
        const part: Page<Run> = await get<Page<Run>>("/runs", { session: id, limit: 100, after }, signal);
        items.push(...part.items);
        after = part.next;
        if (after === null) break;
      }
      return items;
    },
    placeholderData: keepPreviousData,
  });

  // The first view has the place in the log after which the trace follows.
  const start = useRef<number | null>(null);
  const ready = current !== undefined;
  if (ready && start.current === null) start.current = current.last_seq;

  // biome-ignore lint/correctness/useExhaustiveDependencies: `attempt` loads again.
  useEffect(() => {
    if (!ready) return;
    let stopped = false;
    // Many pieces of text come between two frames: apply them together.
    let gathered: TraceEvent[] = [];
    let frame = 0;
    // The events since a request for the rows began. They are applied to its result again, because the rows may be
    // older than the events. To apply an event twice changes nothing.
    let sinceRequest: TraceEvent[] | null = null;
    // Only the response to the last request counts: events are lost before a `resync`, so that older rows lack them.
    let requests = 0;
    let retry: ReturnType<typeof setTimeout> | undefined;
    const load = (attempt = 0) => {
      clearTimeout(retry);
      requests += 1;
      const own = requests;
      sinceRequest = [];
      const isSuperseded = () => stopped || own !== requests;
      // A bookmark may name the session by its key, so use the ID everywhere.
      get<Messages>(`/sessions/${id}/messages`, { last: PAGE })
        .then((page) => {
          if (isSuperseded()) return;
          dispatch({ kind: "loaded", rows: page.items, hasOlder: (page.before ?? 0) > 0 });
          if (sinceRequest !== null) dispatch({ kind: "events", events: sinceRequest });
          sinceRequest = null;
          setLoadError(null);
          setLoaded(true);
        })
        .catch((error) => {
          if (isSuperseded()) return;
          setLoadError(error);
          if (!isRefusal(error)) retry = setTimeout(() => load(attempt + 1), backoffMs(attempt));
        });
    };
    const apply = () => {
      frame = 0;
      const events = gathered;
      gathered = [];
      // A key or a click is handled and painted first, because to draw a long live text takes longer than a frame.
      startTransition(() => dispatch({ kind: "events", events }));
    };
    const end = subscribe(id, String(start.current ?? 0), (event) => {
      gathered.push(event);
      if (event.kind === "resync") {
        // At once, because it must not be applied after events that follow it.
        apply();
        load();
        client.invalidateQueries({ queryKey: keys.session(id) });
        return;
      }
      sinceRequest?.push(event);
      // A hidden tab gets no frames.
      if (frame === 0) frame = document.hidden ? window.setTimeout(apply, 200) : requestAnimationFrame(apply);
    });
    load();
    return () => {
      stopped = true;
      end();
      clearTimeout(retry);
      cancelAnimationFrame(frame);
      clearTimeout(frame);
    };
  }, [id, ready, attempt, client]);

  // The text of a running turn, if the trace did not bring it from its beginning.
  const running = current?.open_runs.find((run) => run.status === "running")?.id;
  const gap =
    running !== undefined &&
    loaded &&
    !transcript.ended.has(running) &&
    (transcript.gaps.has(running) || !transcript.live.has(running));
  useEffect(() => {
    if (!gap || running === undefined) return;
    let stopped = false;
    let retry: ReturnType<typeof setTimeout> | undefined;
    const read = (attempt = 0) => {
      get<{ text: string; end: number }>(`/runs/${running}/text`)
        .then((live) => {
          if (!stopped) dispatch({ kind: "text", run: running, ...live });
        })
        .catch((error) => {
          if (!stopped && !isRefusal(error)) retry = setTimeout(() => read(attempt + 1), backoffMs(attempt));
        });
    };
    read();
    return () => {
      stopped = true;
      clearTimeout(retry);
    };
  }, [gap, running]);

  const loading = useRef(false);
  const first = transcript.rows[0]?.seq;
  const loadOlder = useCallback(() => {
    if (loading.current || first === undefined) return;
    loading.current = true;
    rowsBefore(id, first)
      .then((older) => {
        dispatch({ kind: "older", ...older });
        setRunPages((pages) => pages + 1);
      })
      .catch(() => undefined)
      .finally(() => {
        loading.current = false;
      });
  }, [id, first]);

  const runs = useMemo(() => {
    const map = new Map<string, Run>();
    for (const run of runList.data ?? []) map.set(run.id, run);
    for (const run of current?.open_runs ?? []) map.set(run.id, run);
    return map;
  }, [runList.data, current?.open_runs]);

  return {
    view: current,
    error: current === undefined ? view.error : loaded ? null : loadError,
    refetch: () => {
      view.refetch();
      setAttempt((times) => times + 1);
    },
    transcript,
    runs,
    loaded,
    loadOlder,
  };
}
