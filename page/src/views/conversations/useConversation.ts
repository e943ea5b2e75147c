/** Loads a conversation and follows its trace. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useReducer, useRef, useState } from "react";
import { get } from "../../api/client";
import { keys } from "../../api/queries";
import type { Message, Messages, Page, Run, SessionView } from "../../api/types";
import { backoffMs } from "../../live/stream";
import { isRefusal } from "../../shell/reach";
import { type FollowAction, followConversation, PAGE } from "./follow";
import { applyEvent, EMPTY, mergeRows, setLiveText, setRows, type Transcript } from "./transcript";

type Action =
  | FollowAction
  | { kind: "older"; rows: Message[]; hasOlder: boolean }
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
    return followConversation(id, String(start.current ?? 0), {
      dispatch,
      onLoad: () => {
        setLoadError(null);
        setLoaded(true);
      },
      onError: setLoadError,
    });
  }, [id, ready, attempt]);

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
