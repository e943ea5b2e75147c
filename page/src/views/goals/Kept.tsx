import { useInfiniteQuery } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import type { Goal } from "../../api/types";
import { NoLines } from "../../kit/List";
import { Skeleton, Tabs } from "../../kit/layout";
import { artifactsOf } from "../artifacts/pages";
import { versionsOf } from "../artifacts/versions";
import { useFilter } from "../filter";
import { entriesOf } from "../memory/pages";
import css from "./goals.module.css";
import { Messages, useMessages } from "./Messages";

const SessionArtifacts = lazy(() =>
  import("../artifacts/Artifacts").then((module) => ({ default: module.SessionArtifacts })),
);
const MemorySection = lazy(() =>
  import("../memory/Memory").then((module) => ({ default: module.MemorySection })),
);

const TABS = ["messages", "artifacts", "memory"];

/** What the seats have written: messages, artifacts and memory. */
export function Kept({ goal }: { goal: Goal }) {
  const [tab, setTab] = useFilter("tab");
  const shown = TABS.includes(tab) ? tab : "messages";
  const owner = { kind: "session" as const, id: goal.id, name: goal.id };
  const messages = useMessages(goal.id);
  const artifacts = useInfiniteQuery(artifactsOf(goal.id));
  const memory = useInfiniteQuery(entriesOf(owner, ""));
  // As the tab shows them: one line for all versions of a name.
  const names = artifacts.data && versionsOf(artifacts.data.pages.flatMap((page) => page.items)).length;
  const entries = memory.data?.pages.flatMap((page) => page.items).length;
  return (
    <section className={css.kept} aria-label="Messages, artifacts and memory">
      <Tabs
        value={shown}
        onChange={setTab}
        tabs={[
          {
            value: "messages",
            label: (
              <Counted
                word="Messages"
                count={messages.isRead ? messages.entries.length : undefined}
                isWhole={messages.isWhole}
              />
            ),
            content: <Messages goal={goal} list={messages} />,
          },
          {
            value: "artifacts",
            label: <Counted word="Artifacts" count={names} isWhole={!artifacts.hasNextPage} />,
            content: (
              <Suspense fallback={<Skeleton rows={3} />}>
                <SessionArtifacts
                  session={goal.id}
                  empty={<NoLines>No artifact yet. Seats hand in files with the tool save_artifact.</NoLines>}
                />
              </Suspense>
            ),
          },
          {
            value: "memory",
            label: <Counted word="Memory" count={entries} isWhole={!memory.hasNextPage} />,
            content: (
              <Suspense fallback={<Skeleton rows={3} />}>
                <MemorySection owner={owner} links={null} />
              </Suspense>
            ),
          },
        ]}
      />
    </section>
  );
}

/** The name of a list with the number of its items, such as `20+` if more are not read. */
function Counted({ word, count, isWhole }: { word: string; count: number | undefined; isWhole: boolean }) {
  return (
    <>
      {word}
      {count !== undefined && (
        <span className={css.count}>
          {" "}
          {count}
          {!isWhole && "+"}
        </span>
      )}
    </>
  );
}
