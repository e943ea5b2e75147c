/** Loads a conversation and follows its trace. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useReducer, useRef, useState } from "react";
import { get } from "../../api/client";
import { keys } from "../../api/queries";
import type { Message, Messages, Page, Run, SessionView } from "../../api/types";
import { backoffMs } from "../../live/stream";
import { isRefusal } from "../../shell/reach";
import { type FollowAction, followConversation, PAGE } from "./follow";
import {
  applyEvent,
  EMPTY,
  mergeRows,
  setLiveText,
  setRows,
  type Transcript,
  withoutText,
} from "./transcript";

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

  // The texts of running turns, if the trace did not bring them from their beginning. Several seats may have a turn.
  const lacking = loaded ? withoutText(transcript, current?.open_runs ?? []).join(" ") : "";
  useEffect(() => {
    if (lacking === "") return;
    let stopped = false;
    const retries = new Set<ReturnType<typeof setTimeout>>();
    const read = (run: string, attempt = 0) => {
      get<{ text: string; end: number }>(`/runs/${run}/text`)
        .then((live) => {
          if (!stopped) dispatch({ kind: "text", run, ...live });
        })
        .catch((error) => {
          if (!stopped && !isRefusal(error))
            retries.add(setTimeout(() => read(run, attempt + 1), backoffMs(attempt)));
        });
    };
    for (const run of lacking.split(" ")) read(run);
    return () => {
      stopped = true;
      for (const retry of retries) clearTimeout(retry);
    };
  }, [lacking]);

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
