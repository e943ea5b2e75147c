import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { ChevronRight } from "lucide-react";
import { Link } from "wouter";
import { get } from "../../api/client";
import { hasStatus } from "../../api/problem";
import { keys } from "../../api/queries";
import type { SessionView } from "../../api/types";
import { ErrorState } from "../../kit/ErrorState";
import { MorePages } from "../../kit/List";
import { EmptyState, Panel, Skeleton } from "../../kit/layout";
import { visible } from "../../kit/visible";
import { addressOfArtifacts, addressOfSession } from "../addresses";
import { titleOf } from "../conversations/names";
import { useFilter } from "../filter";
import { NOTHING_YET, Rows } from "./Artifacts";
import css from "./artifacts.module.css";
import { artifactsOf } from "./pages";
import { versionsOf } from "./versions";

/** The route `/conversations/:id/artifacts`: all artifacts of one session, or with `?name=` the versions of one. */
export default function ArtifactList({ params }: { params: { id: string } }) {
  const { id } = params;
  const session = useQuery({
    queryKey: keys.session(id),
    queryFn: ({ signal }) => get<SessionView>(`/sessions/${id}`, {}, signal),
  });
  const [name] = useFilter("name");
  const pages = artifactsOf(id, name);
  const list = useInfiniteQuery(pages);
  // The API knows the beginning of names alone.
  const groups = versionsOf(list.data?.pages.flatMap((page) => page.items) ?? [], name);
  if (hasStatus(session.error, 404)) {
    return (
      <div className={css.view}>
        <EmptyState
          text="There is no such conversation."
          action={<Link href="/conversations">All conversations</Link>}
          command="matins session list"
        />
      </div>
    );
  }
  return (
    <div className={css.view}>
      <nav aria-label="Path" className={css.path}>
        <Link href="/conversations">Conversations</Link>
        <ChevronRight size={16} aria-hidden />
        <Link className="truncate" href={addressOfSession(id)}>
          {session.data ? titleOf(session.data) : "Conversation"}
        </Link>
        <ChevronRight size={16} aria-hidden />
        {name === "" ? (
          <h1>Artifacts</h1>
        ) : (
          <>
            <Link href={addressOfArtifacts(id)}>Artifacts</Link>
            <ChevronRight size={16} aria-hidden />
            <h1 className={`truncate ${css.name}`}>
              <bdi>{visible(name)}</bdi>
            </h1>
          </>
        )}
      </nav>
      {list.error ? (
        <ErrorState error={list.error} onRetry={() => list.refetch()} />
      ) : list.data === undefined ? (
        <Skeleton rows={4} />
      ) : groups.length === 0 && !list.hasNextPage ? (
        <EmptyState
          text={name === "" ? NOTHING_YET : `No artifact is called “${visible(name)}”.`}
          command={`matins artifact list ${id}`}
        />
      ) : (
        <Panel
          title="Artifacts"
          aside={
            <small className={css.number}>
              {groups.length}
              {list.hasNextPage && "+"}
            </small>
          }
        >
          <Rows groups={groups} />
          <MorePages list={list} queryKey={pages.queryKey} />
        </Panel>
      )}
    </div>
  );
}
