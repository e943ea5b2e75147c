import { useInfiniteQuery } from "@tanstack/react-query";
import { Ellipsis } from "lucide-react";
import { type ReactNode, useRef, useState } from "react";
import { Link } from "wouter";
import type { MemoryEntry } from "../../api/types";
import { Button, IconButton } from "../../kit/Button";
import { ErrorState } from "../../kit/ErrorState";
import { callerName, shortId } from "../../kit/format";
import { MorePages, NoLines, ShowMore } from "../../kit/List";
import { EmptyState, Panel, Skeleton } from "../../kit/layout";
import listCss from "../../kit/list.module.css";
import { Menu } from "../../kit/Menu";
import { Time } from "../../kit/Time";
import { visible } from "../../kit/visible";
import { useKey } from "../../shell/keys";
import { addressOfRun } from "../addresses";
import { useFilter, useSettled } from "../filter";
import { useRefusal } from "../refusal";
import { confirmEntry, deleteEntry } from "./actions";
import { DeleteEntry } from "./DeleteEntry";
import { EntryDialog } from "./EntryDialog";
import { addressProblem, type MemoryOwner, setCommand } from "./entries";
import css from "./memory.module.css";
import { entriesOf } from "./pages";
import { Value } from "./Value";

/** The entries that a side panel shows without a click. */
const SHOWN_BESIDE = 4;
/** The longest text that the API searches, in characters: it accepts 200 bytes. */
const MAX_TEXT = 200;

type Opened = { kind: "add" } | { kind: "edit" | "delete"; entry: MemoryEntry } | null;

function useEntries(owner: MemoryOwner, text: string) {
  const pages = entriesOf(owner, text);
  const list = useInfiniteQuery(pages);
  return { list, queryKey: pages.queryKey, entries: list.data?.pages.flatMap((page) => page.items) ?? [] };
}

/** The memory of an automation, as a tab. The filter is in the address of the page. */
export default function MemoryTab({ owner }: { owner: MemoryOwner }) {
  const [text, setText] = useFilter("text");
  const search = useRef<HTMLInputElement>(null);
  const { list, queryKey, entries } = useEntries(owner, useSettled(text));
  const refusal = useRefusal()(`${owner.kind}s:write`);
  const [opened, setOpened] = useState<Opened>(null);
  useKey("/", () => search.current?.focus());
  const add = (
    <Button size="small" refusal={refusal} onClick={() => setOpened({ kind: "add" })}>
      Add an entry
    </Button>
  );
  const isEmpty = list.data !== undefined && entries.length === 0;
  return (
    <Panel
      title="Memory"
      aside={
        (text !== "" || !isEmpty) && (
          <>
            <input
              ref={search}
              type="search"
              className={css.filter}
              aria-label="Filter by key or value"
              placeholder="Filter  /"
              maxLength={MAX_TEXT}
              value={text}
              onChange={(event) => setText(event.target.value)}
            />
            {add}
          </>
        )
      }
    >
      <Loaded list={list} rows={4}>
        {isEmpty && text !== "" && <NoLines>No key and no value has “{text}”.</NoLines>}
        {isEmpty && text === "" && (
          <EmptyState
            text="Nothing yet. Its agent can keep facts here with the tool remember, and recalls them in later runs."
            action={add}
            command={setCommand(owner)}
          />
        )}
        <Entries owner={owner} entries={entries} refusal={refusal} onOpen={setOpened} />
        <MorePages list={list} queryKey={queryKey} />
      </Loaded>
      <Dialogs owner={owner} opened={opened} onClose={() => setOpened(null)} />
    </Panel>
  );
}

/** The memory of a session, beside its conversation. `links` lead to the other memory that its turns read. */
export function MemorySection({ owner, links }: { owner: MemoryOwner; links: ReactNode }) {
  const { list, queryKey, entries } = useEntries(owner, "");
  const refusal = useRefusal()(`${owner.kind}s:write`);
  const [all, setAll] = useState(false);
  const [opened, setOpened] = useState<Opened>(null);
  const shown = all ? entries : entries.slice(0, SHOWN_BESIDE);
  return (
    <section className={css.beside} aria-label="Memory">
      <h2>
        Memory
        <Button size="small" refusal={refusal} onClick={() => setOpened({ kind: "add" })}>
          Add an entry
        </Button>
      </h2>
      {links}
      <Loaded list={list} rows={2}>
        {list.data !== undefined && entries.length === 0 && (
          <>
            <p className={css.note}>
              Nothing of its own yet. The agent can keep facts here with the tool <code>remember</code> when
              you write to it.
            </p>
            <p className={css.command}>
              <code>{setCommand(owner)}</code>
            </p>
          </>
        )}
        <Entries owner={owner} entries={shown} refusal={refusal} onOpen={setOpened} />
        {shown.length < entries.length && (
          <ShowMore onClick={() => setAll(true)}>
            Show all {list.hasNextPage ? `${entries.length}+` : entries.length}
          </ShowMore>
        )}
        {all && <MorePages list={list} queryKey={queryKey} />}
      </Loaded>
      <Dialogs owner={owner} opened={opened} onClose={() => setOpened(null)} />
    </section>
  );
}

/** Shows the rows of a list once they are there, and why they are not. Rows that were read stay when a refetch fails. */
function Loaded(props: {
  list: { data: unknown; error: unknown; refetch(): void };
  rows: number;
  children: ReactNode;
}) {
  const { list, rows, children } = props;
  return (
    <>
      {list.error != null && (
        <div className={`${listCss.problem} ${css.problem}`}>
          <ErrorState error={list.error} onRetry={() => list.refetch()} />
        </div>
      )}
      {list.data === undefined && list.error == null && <Skeleton rows={rows} />}
      {list.data !== undefined && children}
    </>
  );
}

function Dialogs(props: { owner: MemoryOwner; opened: Opened; onClose(): void }) {
  const { owner, opened, onClose } = props;
  if (opened === null) return null;
  if (opened.kind === "delete")
    return <DeleteEntry key={opened.entry.key} owner={owner} entry={opened.entry} onClose={onClose} />;
  const entry = opened.kind === "edit" ? opened.entry : null;
  return <EntryDialog key={entry?.key ?? ""} owner={owner} entry={entry} onClose={onClose} />;
}

function Entries(props: {
  owner: MemoryOwner;
  entries: MemoryEntry[];
  refusal: string | null;
  onOpen(opened: Opened): void;
}) {
  const { owner, entries, refusal, onOpen } = props;
  if (entries.length === 0) return null;
  return (
    <ul className={listCss.lines} aria-label="Memory entries">
      {entries.map((entry) => (
        <Entry key={entry.key} owner={owner} entry={entry} refusal={refusal} onOpen={onOpen} />
      ))}
    </ul>
  );
}

function Entry(props: {
  owner: MemoryOwner;
  entry: MemoryEntry;
  refusal: string | null;
  onOpen(opened: Opened): void;
}) {
  const { owner, entry, onOpen } = props;
  const refusal = props.refusal ?? addressProblem(entry.key);
  const remove = () =>
    // A write of a person cannot bring back the author and the mark of an agent's entry.
    entry.run_id === null ? void deleteEntry(owner, entry.key) : onOpen({ kind: "delete", entry });
  return (
    <li className={css.entry}>
      <div className={css.head}>
        <strong>
          <bdi>{visible(entry.key)}</bdi>
        </strong>
        {entry.unconfirmed && (
          <span className={css.mark} title="The run that wrote it has not succeeded, or not yet">
            unconfirmed
          </span>
        )}
        <Menu
          trigger={
            <IconButton label={`Actions of ${entry.key}`}>
              <Ellipsis size={16} aria-hidden />
            </IconButton>
          }
          items={[
            ...(entry.unconfirmed
              ? [
                  {
                    label: "Confirm",
                    note: "makes you its author",
                    refusal,
                    onSelect: () => void confirmEntry(owner, entry),
                  },
                ]
              : []),
            { label: "Edit…", refusal, onSelect: () => onOpen({ kind: "edit", entry }) },
            null,
            {
              label: entry.run_id === null ? "Delete" : "Delete…",
              danger: true,
              refusal,
              onSelect: remove,
            },
          ]}
        />
      </div>
      <Value value={entry.value} />
      <p className={`${listCss.facts} ${css.facts}`}>
        <span>confidence {entry.confidence}</span>
        <span>
          by {callerName(entry.author)}
          {entry.run_id !== null && (
            <>
              {" in "}
              <Link href={addressOfRun(entry.run_id)}>run {shortId(entry.run_id)}</Link>
            </>
          )}
        </span>
        <span>
          {entry.version > 1 ? `version ${entry.version}, ` : ""}
          <Time at={entry.updated_at} withTime />
        </span>
        {entry.expires_at !== null && (
          <span>
            until <Time at={entry.expires_at} withTime />
          </span>
        )}
      </p>
    </li>
  );
}
