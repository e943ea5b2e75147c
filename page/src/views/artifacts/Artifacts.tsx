import { useInfiniteQuery, useQueries, useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Link } from "wouter";
import { get } from "../../api/client";
import { keys } from "../../api/queries";
import type { Artifact, AutomationView, Page, RunView, Session } from "../../api/types";
import { Button, ButtonLink } from "../../kit/Button";
import { Copy } from "../../kit/Copy";
import { ErrorState, errorText, FailureLine } from "../../kit/ErrorState";
import { plural, shortId } from "../../kit/format";
import { MorePages, NoLines, ShowMore } from "../../kit/List";
import { EmptyState, Panel, Skeleton } from "../../kit/layout";
import listCss from "../../kit/list.module.css";
import { TextWithCode } from "../../kit/TextWithCode";
import { Time } from "../../kit/Time";
import { visible } from "../../kit/visible";
import { addressOfArtifacts, addressOfRun, addressOfSession } from "../addresses";
import css from "./artifacts.module.css";
import { download } from "./download";
import { artifactsOf, PAGE, readArtifacts } from "./pages";
import { type ArtifactVersions, baseType, hostOfLink, sizeText, versionsOf } from "./versions";

/** The sessions of an automation that are read at a time: the API lists artifacts by session. */
const SESSIONS = 20;
/** The names that a side panel shows without a click. */
const SHOWN_BESIDE = 4;

export const NOTHING_YET =
  "No artifact yet. Its agent hands in files and addresses with the tool save_artifact.";

/** The artifacts of a session, beside its conversation. Shows `empty` if there are none. */
export function SessionArtifacts({ session, empty = null }: { session: string; empty?: ReactNode }) {
  const pages = artifactsOf(session);
  const list = useInfiniteQuery(pages);
  const [all, setAll] = useState(false);
  const groups = versionsOf(list.data?.pages.flatMap((page) => page.items) ?? []);
  const shown = all ? groups : groups.slice(0, SHOWN_BESIDE);
  if (list.error === null && groups.length === 0) return list.data === undefined ? null : empty;
  const number = `${groups.length}${list.hasNextPage ? "+" : ""}`;
  return (
    <section className={css.beside} aria-label="Artifacts">
      <h2>
        <Link href={addressOfArtifacts(session)}>Artifacts</Link> <small>{number}</small>
      </h2>
      {list.error && <ErrorState error={list.error} onRetry={() => list.refetch()} />}
      <Rows groups={shown} />
      {shown.length < groups.length && <ShowMore onClick={() => setAll(true)}>Show all {number}</ShowMore>}
      {all && <MorePages list={list} queryKey={pages.queryKey} />}
    </section>
  );
}

/** Reads the artifacts that a run has handed in: the newest of its session first, back to the beginning of the run. */
async function artifactsOfRun(run: RunView, session: string, signal: AbortSignal): Promise<Artifact[]> {
  const found: Artifact[] = [];
  let after: string | null = null;
  do {
    const page: Page<Artifact> = await readArtifacts(session, after, 2 * PAGE, signal);
    found.push(...page.items.filter((each) => each.run_id === run.id));
    const last = page.items.at(-1);
    after = last !== undefined && last.created_at < run.created_at ? null : page.next;
  } while (after !== null);
  return found;
}

/** The artifacts that a run has handed in. Shows nothing if there are none. */
export default function RunArtifacts({ run }: { run: RunView }) {
  const session = run.session_id ?? "";
  const list = useQuery({
    queryKey: [...keys.artifacts(session), "run", run.id],
    queryFn: ({ signal }) => artifactsOfRun(run, session, signal),
  });
  if (list.error) return <ErrorState error={list.error} onRetry={() => list.refetch()} />;
  if (list.data === undefined || list.data.length === 0) return null;
  return (
    <Panel title="Artifacts">
      <Rows groups={versionsOf(list.data)} run={run.id} />
    </Panel>
  );
}

/** The artifacts of the sessions of an automation, as a tab. */
export function AutomationArtifacts({ automation }: { automation: AutomationView }) {
  const bound = automation.session_mode === "bound" ? automation.session : null;
  const queryKey = [...keys.automations, "artifact-sessions", automation.id];
  const sessionList = useInfiniteQuery({
    queryKey,
    queryFn: ({ signal, pageParam }) =>
      get<Page<Session>>(
        `/automations/${automation.id}/sessions`,
        { after: pageParam, limit: SESSIONS },
        signal,
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    enabled: bound === null,
  });
  const sessions = bound ? [bound] : (sessionList.data?.pages.flatMap((page) => page.items) ?? []);
  const lists = useQueries({
    queries: sessions.map((session) => ({
      queryKey: [...keys.artifacts(session.id), "first"],
      queryFn: ({ signal }: { signal: AbortSignal }) => readArtifacts(session.id, null, PAGE, signal),
    })),
  });
  const groups = versionsOf(lists.flatMap((list) => list.data?.items ?? []));
  const failed = lists.find((list) => list.error !== null);
  const error = sessionList.error ?? failed?.error ?? null;
  const isLoading =
    (bound === null && sessionList.data === undefined) || lists.some((list) => list.isLoading);
  const cut = sessions.filter((_, index) => lists[index]?.data?.next != null);
  const retry = () => {
    if (sessionList.error) sessionList.refetch();
    for (const list of lists) if (list.error) list.refetch();
  };
  return (
    <Panel title={bound ? "Artifacts of its conversation" : "Artifacts"}>
      {error && (
        <div className={listCss.problem}>
          <ErrorState error={error} onRetry={retry} />
        </div>
      )}
      {isLoading && !error && <Skeleton rows={4} />}
      {!isLoading && !error && groups.length === 0 && (
        <EmptyState
          text={
            sessionList.hasNextPage
              ? `No artifact in its newest ${sessions.length} sessions. Its agent hands in files with the tool save_artifact.`
              : NOTHING_YET
          }
          command={`matins artifact list ${automation.session?.id ?? "SESSION"}`}
        />
      )}
      <Rows groups={groups} />
      {cut.map((session) => (
        <NoLines key={session.id}>
          The newest {PAGE} of a session are shown.{" "}
          <Link href={addressOfSession(session.id)}>All are in its conversation</Link>
        </NoLines>
      ))}
      {bound === null && (
        <MorePages list={sessionList} queryKey={queryKey}>
          Show those of older sessions
        </MorePages>
      )}
    </Panel>
  );
}

/** The lines of artifacts, each with its older versions. */
export function Rows({ groups, run }: { groups: ArtifactVersions[]; run?: string }) {
  if (groups.length === 0) return null;
  return (
    <ul className={listCss.lines}>
      {groups.map(({ newest, older }) => (
        <li key={newest.id} className={css.artifact}>
          <Version artifact={newest} run={run}>
            <strong>
              <bdi>{visible(newest.name)}</bdi>
            </strong>
            {newest.version > 1 && <small>version {newest.version}</small>}
          </Version>
          {older.length > 0 && (
            <details className={css.older}>
              <summary>{plural(older.length, "older version")}</summary>
              <ul>
                {older.map((artifact) => (
                  <li key={artifact.id}>
                    <Version artifact={artifact} run={run}>
                      <span>version {artifact.version}</span>
                    </Version>
                  </li>
                ))}
              </ul>
            </details>
          )}
        </li>
      ))}
    </ul>
  );
}

/** One version: `children` name it. A view of one run does not link to that run again. */
function Version(props: { artifact: Artifact; run: string | undefined; children: ReactNode }) {
  const { artifact, run, children } = props;
  const [open, setOpen] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const host = artifact.uri === null ? null : hostOfLink(artifact.uri);
  const label = `${visible(artifact.name)}, version ${artifact.version}`;
  const save = async () => {
    setBusy(true);
    setError(null);
    try {
      await download(artifact.id);
    } catch (problem) {
      setError(errorText(problem));
    }
    setBusy(false);
  };
  return (
    <>
      <div className={css.head}>
        {children}
        {artifact.uri === null ? (
          <Button size="small" busy={busy} aria-label={`Download ${label}`} onClick={save}>
            Download
          </Button>
        ) : (
          host !== null && (
            <ButtonLink size="small" foreign href={artifact.uri} aria-label={`Open ${label}, at ${host}`}>
              Open
            </ButtonLink>
          )
        )}
      </div>
      {artifact.uri !== null && (
        <code className={css.uri}>
          <bdi>{visible(artifact.uri)}</bdi>
        </code>
      )}
      <p className={`${listCss.facts} ${css.facts}`}>
        {artifact.size !== null && (
          <>
            <span>{sizeText(artifact.size)}</span>
            <span>{baseType(artifact.media_type)}</span>
          </>
        )}
        {host !== null && <span>at {host}</span>}
        <Time at={artifact.created_at} withTime />
        {artifact.run_id !== run && (
          <Link href={addressOfRun(artifact.run_id)}>run {shortId(artifact.run_id)}</Link>
        )}
        <button
          type="button"
          aria-expanded={open}
          aria-label={`Details of ${label}`}
          onClick={() => setOpen(!open)}
        >
          details
        </button>
      </p>
      {error && (
        <FailureLine>
          <TextWithCode text={error} />
        </FailureLine>
      )}
      {open && (
        <dl className={css.details}>
          <dt>ID</dt>
          <dd>
            <code>{artifact.id}</code> <Copy text={artifact.id} />
          </dd>
          {artifact.sha256 !== null && (
            <>
              <dt>Media type</dt>
              <dd>{artifact.media_type && visible(artifact.media_type)}</dd>
              <dt>SHA-256</dt>
              <dd>
                <code>{artifact.sha256}</code> <Copy text={artifact.sha256} />
              </dd>
            </>
          )}
        </dl>
      )}
    </>
  );
}
