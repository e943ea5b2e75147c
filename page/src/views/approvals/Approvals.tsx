import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Timer } from "lucide-react";
import { useRef, useState } from "react";
import { Link } from "wouter";
import { get } from "../../api/client";
import { hasStatus } from "../../api/problem";
import { keys, useApprovals, useQuestions } from "../../api/queries";
import type { Approval, Page } from "../../api/types";
import { Button } from "../../kit/Button";
import { Callout, ErrorState } from "../../kit/ErrorState";
import { dayAndTime, longTime } from "../../kit/format";
import { Chips, MorePages } from "../../kit/List";
import { EmptyState, Skeleton } from "../../kit/layout";
import listCss from "../../kit/list.module.css";
import { type Look, StatusGlyph } from "../../kit/Status";
import { Countdown } from "../../kit/Time";
import { visible, visibleLines } from "../../kit/visible";
import { addressOfApproval } from "../addresses";
import { asText, mainField } from "../conversations/tools";
import { useFilter } from "../filter";
import { useRefusal } from "../refusal";
import { AlwaysAllow } from "./AlwaysAllow";
import { AskedIn, useNameOf } from "./Asked";
import css from "./approvals.module.css";
import { decide, fieldsOf, outcomeText, useInert, useWholeInput, VERBS } from "./decision";
import { isQuestion, QuestionPane, QuestionRow } from "./Questions";
import { ruleFor } from "./rules";

const PAGE = 100;

/**
 * The route `/approvals/:id?`: what waits for a decision, the earliest deadline first, then the questions of agents; and
 * what was decided.
 */
export function Approvals({ params }: { params: { id?: string } }) {
  const [tab, setTab] = useFilter("tab");
  const decided = tab === "decided";
  const pending = useApprovals();
  const asked = useQuestions();
  const pastKey = [...keys.approvals, "any"];
  const past = useInfiniteQuery({
    queryKey: pastKey,
    queryFn: ({ signal, pageParam }) =>
      get<Page<Approval>>("/approvals", { state: "any", after: pageParam, limit: PAGE }, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    enabled: decided,
  });
  const waiting = [...(pending.data?.items ?? [])].sort((a, b) => a.deadline_at.localeCompare(b.deadline_at));
  const over = (past.data?.pages.flatMap((page) => page.items) ?? []).filter(
    (each) => each.state !== "pending",
  );
  const questions = decided
    ? []
    : [...(asked.data?.items ?? [])].sort((a, b) => a.deadline_at.localeCompare(b.deadline_at));
  const list = decided ? over : waiting;
  const query = decided ? past : pending;
  const chosen = params.id ?? null;
  const isRead = (decided ? [past] : [pending, asked]).every(
    (each) => each.isFetchedAfterMount || !each.isFetching,
  );
  const first = isRead ? (list[0]?.id ?? questions[0]?.id ?? null) : null;
  // A request that a person reads stays, also after somebody else decided it, and when an earlier one comes before it.
  const [kept, setKept] = useState<{ tab: string; id: string } | null>(null);
  const stays = kept?.tab === tab ? kept.id : null;
  const open = chosen ?? stays ?? first;
  if (chosen !== null && kept !== null) setKept(null);
  else if (chosen === null && stays === null && first !== null) setKept({ tab, id: first });
  const showNext = () => setKept(null);
  return (
    <div className={css.inbox} data-open={chosen !== null}>
      <section className={css.list} aria-label="Requests">
        <header>
          <h1>Approvals</h1>
          <Chips
            label="State"
            value={decided ? "decided" : ""}
            options={[
              { value: "", label: `Waiting ${waiting.length + questions.length || ""}` },
              { value: "decided", label: "Decided" },
            ]}
            onChange={setTab}
          />
        </header>
        {query.error ? (
          <ErrorState error={query.error} onRetry={() => query.refetch()} />
        ) : query.data === undefined ? (
          <Skeleton rows={5} />
        ) : list.length + questions.length === 0 ? (
          <EmptyState
            text={decided ? "Nothing was decided yet." : "Nothing waits for you."}
            command={decided ? "matins approval list --all" : "matins approval list"}
          />
        ) : (
          <ul className={listCss.lines}>
            {list.map((approval) => (
              <li key={approval.id}>
                <ListRow approval={approval} current={approval.id === open} tab={tab} />
              </li>
            ))}
            {questions.map((question) => (
              <li key={question.id}>
                <QuestionRow question={question} current={question.id === open} />
              </li>
            ))}
          </ul>
        )}
        {decided && <MorePages list={past} queryKey={pastKey} />}
      </section>
      {open !== null &&
        (isQuestion(open) ? (
          <QuestionPane key={open} id={open} onAnswered={showNext} />
        ) : (
          <Request key={open} id={open} onDecided={showNext} />
        ))}
    </div>
  );
}

function lookOf(approval: Approval): Look {
  if (approval.state === "pending") return "waits";
  return approval.state === "allowed" ? "succeeded" : "cancelled";
}

function ListRow({ approval, current, tab }: { approval: Approval; current: boolean; tab: string }) {
  const pending = approval.state === "pending";
  return (
    <Link
      href={`${addressOfApproval(approval.id)}${tab === "" ? "" : `?tab=${tab}`}`}
      className={css.row}
      aria-current={current ? "true" : undefined}
    >
      <StatusGlyph look={lookOf(approval)} title={approval.state} />
      <span>
        <strong className="truncate">{useNameOf(approval)}</strong>
        <code className="truncate">{visibleLines(mainField(approval.input) ?? approval.title)}</code>
      </span>
      <small>{pending ? <Countdown until={approval.deadline_at} /> : dayAndTime(approval.created_at)}</small>
    </Link>
  );
}

function Request({ id, onDecided }: { id: string; onDecided(): void }) {
  const found = useQuery({
    queryKey: [...keys.approvals, id],
    queryFn: ({ signal }) => get<Approval>(`/approvals/${id}`, {}, signal),
  });
  if (found.data === undefined) {
    return (
      <section className={css.request}>
        {hasStatus(found.error, 404) ? (
          <EmptyState text="There is no such request." action={<Link href="/approvals">All requests</Link>} />
        ) : found.error ? (
          <ErrorState error={found.error} onRetry={() => found.refetch()} />
        ) : (
          <Skeleton rows={6} />
        )}
      </section>
    );
  }
  return <RequestView approval={found.data} onDecided={onDecided} />;
}

function RequestView({ approval, onDecided }: { approval: Approval; onDecided(): void }) {
  const refusalOf = useRefusal();
  const name = useNameOf(approval);
  const whole = useWholeInput(approval);
  const [wrap, setWrap] = useState(true);
  const [comment, setComment] = useState("");
  const [sawCut, setSawCut] = useState(false);
  const [busy, setBusy] = useState<"allow" | "deny" | null>(null);
  const [always, setAlways] = useState(false);
  const buttons = useRef<HTMLElement>(null);
  const inert = useInert(approval.id, buttons);
  const pending = approval.state === "pending";
  const refusal = refusalOf("approvals:write");
  const fields = fieldsOf(whole.input);
  const send = async (decision: "allow" | "deny") => {
    if (inert || busy !== null) return;
    setBusy(decision);
    const isDecided = await decide(approval.id, decision, comment.trim());
    setBusy(null);
    if (isDecided) onDecided();
  };
  // The rest of a cut input may hold a command, or change it.
  const rule = approval.automation_id === null || whole.cut ? null : ruleFor(approval, whole.input);
  return (
    <section className={css.request} aria-label="Request">
      <header>
        <Link className={css.back} href="/approvals">
          All requests
        </Link>
        <div>
          <h2>
            <StatusGlyph look={lookOf(approval)} />
            {name} {pending ? "asks" : "asked"} for permission
          </h2>
          <AskedIn asked={approval} />
        </div>
        {pending && (
          <span className={css.left} title={longTime(approval.deadline_at)}>
            <Timer size={16} aria-hidden /> <Countdown until={approval.deadline_at} /> left
          </span>
        )}
      </header>
      <div className={css.words}>
        <span>{VERBS[approval.tool_kind] ?? visible(approval.tool_kind)}</span>
        <q>{visible(approval.title)}</q>
        <small>the agent’s own words</small>
      </div>
      <div className={css.input} data-wrap={wrap}>
        <div className={css.inputHead}>
          <h3>Input</h3>
          <label>
            <input type="checkbox" checked={wrap} onChange={(event) => setWrap(event.target.checked)} /> Wrap
          </label>
        </div>
        {fields.length === 0 ? (
          <pre tabIndex={0}>{visibleLines(asText(whole.input)) || "The agent named no input."}</pre>
        ) : (
          <table>
            <tbody>
              {fields.map(([name, value]) => (
                <tr key={name}>
                  <th scope="row">{visible(name)}</th>
                  <td>
                    <pre tabIndex={0}>{visibleLines(value)}</pre>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </div>
      {pending ? (
        <>
          {whole.cut && (
            <label className={css.tick}>
              <input type="checkbox" checked={sawCut} onChange={(event) => setSawCut(event.target.checked)} />
              Only the beginning of the input is known. I allow it all the same.
            </label>
          )}
          <p className={css.otherwise}>
            Denied at {dayAndTime(approval.deadline_at)} if nobody answers. Decides this request only.
          </p>
          <label className={css.comment}>
            <span>Comment, not sent to the agent</span>
            <input value={comment} maxLength={4096} onChange={(event) => setComment(event.target.value)} />
          </label>
          <footer ref={buttons}>
            <Button
              size="large"
              refusal={refusal}
              aria-disabled={inert}
              busy={busy === "deny"}
              onClick={() => send("deny")}
            >
              Deny
            </Button>
            <Button
              size="large"
              refusal={refusal}
              aria-disabled={inert}
              disabled={whole.cut && !sawCut}
              busy={busy === "allow"}
              onClick={() => send("allow")}
            >
              Allow once
            </Button>
            {rule && (
              <Button
                size="large"
                refusal={refusal ?? refusalOf("automations:write")}
                aria-disabled={inert}
                onClick={() => !inert && setAlways(true)}
              >
                Always allow…
              </Button>
            )}
          </footer>
        </>
      ) : (
        <Callout title={outcomeText(approval)}>{approval.comment && `“${approval.comment}”`}</Callout>
      )}
      {always && rule && (
        <AlwaysAllow
          approval={approval}
          rule={rule}
          comment={comment.trim()}
          onDecided={onDecided}
          onClose={() => setAlways(false)}
        />
      )}
    </section>
  );
}
