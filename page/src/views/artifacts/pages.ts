/** Pages of the artifacts of a session, each version, the newest first. */
import { infiniteQueryOptions } from "@tanstack/react-query";
import { get } from "../../api/client";
import { keys } from "../../api/queries";
import type { Artifact, Page } from "../../api/types";

export const PAGE = 50;

export const readArtifacts = (
  session: string,
  after: string | null,
  limit: number,
  signal: AbortSignal,
  name = "",
) => get<Page<Artifact>>(`/sessions/${session}/artifacts`, { name, after, limit }, signal);

/** `name` is the beginning of the names. An empty one is that of all. */
export const artifactsOf = (session: string, name = "") =>
  infiniteQueryOptions({
    queryKey: [...keys.artifacts(session), "list", name],
    queryFn: ({ signal, pageParam }) => readArtifacts(session, pageParam, PAGE, signal, name),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
  });
