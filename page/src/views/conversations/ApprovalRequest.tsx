import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useRef, useState } from "react";
import { get } from "../../api/client";
import { keys } from "../../api/queries";
import type { Approval } from "../../api/types";
import { Button } from "../../kit/Button";
import { longTime } from "../../kit/format";
import { StatusGlyph } from "../../kit/Status";
import { visible, visibleLines } from "../../kit/visible";
import { decide, fieldsOf, outcomeText, useInert, useWholeInput, VERBS } from "../approvals/decision";
import { useRefusal } from "../refusal";
import css from "./conversation.module.css";
import { type DockedProps, DockHead } from "./DockHead";
import { asText, mainField } from "./tools";

interface ApprovalRequestProps extends DockedProps {
  approval: Approval;
  agent: string;
  disabled: string | null;
}

/** A permission request in the dock, with its decision. */
export function ApprovalRequest(props: ApprovalRequestProps) {
  const { approval, agent, disabled, name, isOver, onClosed, pages, leave } = props;
  const refusalOf = useRefusal();
  const [busy, setBusy] = useState<"allow" | "deny" | null>(null);
  const [sawCut, setSawCut] = useState(false);
  const buttons = useRef<HTMLElement>(null);
  const inert = useInert(approval.id, buttons);
  const whole = useWholeInput(approval);
  // Until the answer nobody knows whether it was decided here.
  if (isOver && busy === null) return <Decided approval={approval} leave={leave} />;
  const send = async (decision: "allow" | "deny") => {
    if (inert || busy !== null) return;
    setBusy(decision);
    // Decided elsewhere or expired: the dock says by whom.
    await decide(approval.id, decision, "", onClosed);
    setBusy(null);
  };
  const main = mainField(whole.input);
  const fields = fieldsOf(whole.input);
  const rest = main === null ? fields : fields.filter(([, value]) => value !== main);
  const refusal = disabled ?? refusalOf("approvals:write");
  return (
    <section className={css.dock} aria-label="Permission request">
      <DockHead
        pages={pages}
        deadline={approval.deadline_at}
        title={`Denied at ${longTime(approval.deadline_at)} without a decision`}
        then=", then denied"
      >
        {visible(name)} asks<span className={css.desktopWords}> for permission</span>
      </DockHead>
      <div className={css.dockInput}>
        <span>{VERBS[approval.tool_kind] ?? visible(approval.tool_kind)}</span>
        <pre tabIndex={0}>
          {visibleLines(
            main ?? (fields.length === 0 && asText(whole.input) ? asText(whole.input) : approval.title),
          )}
        </pre>
      </div>
      {rest.length > 0 && (
        <dl className={css.dockFields}>
          {rest.map(([field, value]) => (
            <div key={field}>
              <dt>{visible(field)}</dt>
              <dd>
                <pre>{visibleLines(value)}</pre>
              </dd>
            </div>
          ))}
        </dl>
      )}
      {whole.cut && (
        <label className={css.dockTick}>
          <input type="checkbox" checked={sawCut} onChange={(event) => setSawCut(event.target.checked)} />
          Only the beginning of the input is shown. I allow it all the same.
        </label>
      )}
      <footer ref={buttons}>
        <span className={css.dockWords}>
          {visible(agent)} says: “{visible(approval.title)}”
        </span>
        <Button refusal={refusal} aria-disabled={inert} busy={busy === "deny"} onClick={() => send("deny")}>
          Deny
        </Button>
        <Button
          refusal={refusal}
          aria-disabled={inert}
          disabled={whole.cut && !sawCut}
          busy={busy === "allow"}
          onClick={() => send("allow")}
        >
          Allow once
        </Button>
      </footer>
    </section>
  );
}

function Decided({ approval, leave }: { approval: Approval; leave: ReactNode }) {
  const ended = useQuery({
    queryKey: [...keys.approvals, approval.id],
    queryFn: ({ signal }) => get<Approval>(`/approvals/${approval.id}`, {}, signal),
    initialData: approval,
    staleTime: 0,
  });
  const { state } = ended.data;
  const word = ended.isFetching && state === "pending" ? "It waits no longer." : outcomeText(ended.data);
  return (
    <section className={css.dock} aria-label="Permission request" role="status">
      <header>
        <StatusGlyph look={state === "allowed" ? "succeeded" : "cancelled"} />
        <strong>{visibleLines(mainField(approval.input) ?? approval.title)}</strong>
      </header>
      <footer>
        <span className={css.dockWords}>{word}</span>
        {leave}
      </footer>
    </section>
  );
}
