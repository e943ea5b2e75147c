/** Pages of the artifacts of a session, each version, the newest first. */
import { infiniteQueryOptions } from "@tanstack/react-query";
import { get } from "../../api/client";
import { keys } from "../../api/queries";
import type { Artifact, Page } from "../../api/types";

export const PAGE = 50;

export const readArtifacts = (session: string, after: string | null, limit: number, signal: AbortSignal) =>
  get<Page<Artifact>>(`/sessions/${session}/artifacts`, { after, limit }, signal);

export const artifactsOf = (session: string) =>
  infiniteQueryOptions({
    queryKey: [...keys.artifacts(session), "list"],
    queryFn: ({ signal, pageParam }) => readArtifacts(session, pageParam, PAGE, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
  });
