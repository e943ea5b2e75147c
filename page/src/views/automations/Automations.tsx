import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { Ellipsis } from "lucide-react";
import { useRef } from "react";
import { Link, useLocation } from "wouter";
import { get, type Query } from "../../api/client";
import { keys, useApprovals, useQuestions } from "../../api/queries";
import type { Automation, AutomationCounts, AutomationPage } from "../../api/types";
import { Button, IconButton } from "../../kit/Button";
import { Callout, ErrorState } from "../../kit/ErrorState";
import { briefReason, dayAndTime, longTime, readerZone } from "../../kit/format";
import { Chips, MorePages } from "../../kit/List";
import { EmptyState, Skeleton } from "../../kit/layout";
import listCss from "../../kit/list.module.css";
import { Menu } from "../../kit/Menu";
import { OutcomeStrip } from "../../kit/OutcomeStrip";
import { lookOfRun, StatusGlyph, wordOf } from "../../kit/Status";
import { VirtualList, type VirtualListHandle } from "../../kit/VirtualList";
import { visible } from "../../kit/visible";
import { useKey, useRowKeys } from "../../shell/keys";
import { addressOfAutomation } from "../addresses";
import { fireAutomation, pauseAutomation, resumeAutomation } from "../automation-actions";
import { lookOfAutomation } from "../conversations/SidePanel";
import { useFilter, useSettled } from "../filter";
import { usePlace } from "../instances";
import { useRefusal } from "../refusal";
import css from "./automations.module.css";
import { scheduleOf } from "./schedule";

const PAGE = 100;

type Tab = { value: string; label: string; count: keyof AutomationCounts; query: Query };
const TABS: Tab[] = [
  { value: "", label: "All", count: "all", query: {} },
  { value: "active", label: "Active", count: "enabled", query: { state: "enabled" } },
  { value: "paused", label: "Paused", count: "paused", query: { state: "paused" } },
  { value: "attention", label: "Attention", count: "attention", query: { attention: true } },
];

const SORTS = [
  { value: "", label: "Name" },
  { value: "next", label: "Next run" },
  { value: "last", label: "Last run" },
  { value: "failures", label: "Failures" },
  { value: "changed", label: "Changed" },
];

const countText = (count: AutomationCounts["all"]): string => `${count.count}${count.more ? "+" : ""}`;

/** The route `/automations`. */
export default function Automations() {
  const [tab, setTab] = useFilter("tab");
  const [sort, setSort] = useFilter("sort");
  const [text, setText] = useFilter("text");
  const [, navigate] = useLocation();
  const refusal = useRefusal();
  const search = useRef<HTMLInputElement>(null);
  const settled = useSettled(text);
  const filter = {
    ...TABS.find((each) => each.value === tab)?.query,
    sort: sort === "" ? "name" : sort,
    text: settled,
  };
  const queryKey = [...keys.automations, "list", filter];
  const list = useInfiniteQuery({
    queryKey,
    queryFn: ({ signal, pageParam }) =>
      get<AutomationPage>("/automations", { ...filter, after: pageParam, limit: PAGE, outcomes: 30 }, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    placeholderData: keepPreviousData,
  });
  useKey("/", () => search.current?.focus());
  useKey("n", () => navigate("/automations/new"));
  const rows = useRef<VirtualListHandle>(null);
  useRowKeys(rows);
  const waiting = useWaiting();
  const shown = list.data?.pages.flatMap((page) => page.items) ?? [];
  const unreadable = list.data?.pages.flatMap((page) => page.unreadable) ?? [];
  const counts = list.data?.pages[0]?.counts;
  // Without a filter of the name, the counts are of all automations.
  const none = settled === "" && counts?.all.count === 0;
  const create = (
    <Button
      kind="primary"
      size="large"
      refusal={refusal("automations:write")}
      onClick={() => navigate("/automations/new")}
    >
      New automation
    </Button>
  );
  return (
    <div className={listCss.listView}>
      <header className={`${listCss.head} ${css.head}`}>
        <h1>Automations</h1>
        <Chips
          label="State"
          value={tab}
          options={TABS.map(({ value, label, count }) => ({
            value,
            label: (
              <>
                {label} {counts && <small>{countText(counts[count])}</small>}
              </>
            ),
          }))}
          onChange={setTab}
        />
        <span className={css.space} />
        <input
          ref={search}
          type="search"
          aria-label="Filter by name"
          placeholder="Filter  /"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <select aria-label="Sort by" value={sort} onChange={(event) => setSort(event.target.value)}>
          {SORTS.map((each) => (
            <option key={each.value} value={each.value}>
              {each.label}
            </option>
          ))}
        </select>
        {counts && !none && create}
      </header>
      {list.error && (
        <div className={listCss.headProblem}>
          <ErrorState error={list.error} onRetry={() => list.refetch()} />
        </div>
      )}
      {unreadable.map((broken) => (
        <div key={broken.id} className={listCss.headProblem}>
          <Callout kind="failed" title={`${visible(broken.name)} cannot be read.`}>
            {broken.unreadable}
          </Callout>
        </div>
      ))}
      {list.data === undefined ? (
        !list.error && <Skeleton rows={8} />
      ) : none && unreadable.length === 0 ? (
        <EmptyState
          text="No automation yet. An automation asks an agent on time, in a session that remembers."
          action={create}
          command={'matins automation add --agent claude "0 9 * * 1-5" "Look at the new issues"'}
        />
      ) : shown.length === 0 ? (
        <EmptyState text="No automation matches." />
      ) : (
        <>
          <div className={`${listCss.columns} ${css.columns}`} aria-hidden="true">
            <span>Name</span>
            <span>Next run</span>
            <span>Last runs</span>
            <span>Last outcome</span>
          </div>
          <VirtualList
            ref={rows}
            label="Automations"
            className={listCss.rows ?? ""}
            items={shown}
            rowHeight={48}
            keyOf={(automation) => automation.id}
            render={(automation) => <Row automation={automation} waitsForYou={waiting.has(automation.id)} />}
          />
          <MorePages list={list} queryKey={queryKey}>
            {shown.length} shown. Show more
          </MorePages>
          <footer className={css.foot}>Times in {readerZone()}.</footer>
        </>
      )}
    </div>
  );
}

/** Why an automation has no next run, or when it runs next. */
export function nextText(automation: Automation): string {
  if (automation.state === "paused") {
    const reason = automation.pause_reason ?? "";
    return reason.startsWith("paused") ? reason : `paused: ${reason}`;
  }
  const next = automation.next_run;
  if (next === null) return "no next run";
  if (Date.parse(next.at) < Date.now() - 60_000) return "overdue";
  return `${dayAndTime(next.at)}${next.in_quiet_hours ? ", skipped: quiet hours" : ""}`;
}

/** Returns the automations with a turn that waits for a person. The list of automations itself does not say so. */
function useWaiting(): ReadonlySet<string> {
  const approvals = useApprovals().data?.items ?? [];
  // A question without a form leaves its turn, so that nothing waits in it.
  const questions = useQuestions().data?.items.filter((question) => question.form != null) ?? [];
  return new Set([...approvals, ...questions].flatMap((each) => each.automation_id ?? []));
}

function Row({ automation, waitsForYou }: { automation: Automation; waitsForYou: boolean }) {
  const refusal = useRefusal();
  const [, navigate] = useLocation();
  const look = lookOfAutomation(automation, automation.outcomes, waitsForYou);
  const last = automation.outcomes[0];
  const place = usePlace(automation);
  const write = refusal("automations:write");
  const address = addressOfAutomation(automation.name);
  return (
    <div className={listCss.row}>
      <Link href={address} className={`${listCss.rowLink} ${css.rowLink}`}>
        {look ? <StatusGlyph look={look} title={wordOf(look)} /> : <span className={css.noGlyph} />}
        <span className={css.name}>
          <strong className="truncate">{visible(automation.name)}</strong>
          <small className="truncate">
            {scheduleOf(automation)}, {visible(automation.agent)}
            {place !== null && `, on ${place}`}
          </small>
        </span>
        <span className="truncate" title={automation.next_run?.display}>
          {nextText(automation)}
        </span>
        <OutcomeStrip outcomes={automation.outcomes} />
        <span className="truncate">
          {automation.attention ??
            (waitsForYou
              ? wordOf("waits")
              : last
                ? `${wordOf(lookOfRun(last))}${last.message ? `: ${briefReason(last.message)}` : ""}`
                : "")}
        </span>
        {last && (
          <time dateTime={last.at} title={longTime(last.at)}>
            {dayAndTime(last.at)}
          </time>
        )}
      </Link>
      <Menu
        trigger={
          <IconButton label={`Actions of ${automation.name}`}>
            <Ellipsis size={16} aria-hidden />
          </IconButton>
        }
        items={[
          { label: "Run now", refusal: write, onSelect: () => void fireAutomation(automation) },
          automation.state === "paused"
            ? { label: "Resume", refusal: write, onSelect: () => void resumeAutomation(automation) }
            : { label: "Pause", refusal: write, onSelect: () => void pauseAutomation(automation) },
          { label: "Edit", refusal: write, onSelect: () => navigate(`${address}/edit`) },
          {
            label: "Runs",
            onSelect: () => navigate(`/runs?automation=${encodeURIComponent(automation.name)}`),
          },
        ]}
      />
    </div>
  );
}
