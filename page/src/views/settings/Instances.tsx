import { useQueries, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { get, request } from "../../api/client";
import { keys } from "../../api/queries";
import type {
  Automation,
  AutomationPage,
  Instance,
  InstanceCheck,
  InstanceFinding,
  Page,
  RunItem,
  RunView,
} from "../../api/types";
import { Button } from "../../kit/Button";
import { ErrorState, errorText, FailureLine, sentence } from "../../kit/ErrorState";
import { dayAndTime, plural } from "../../kit/format";
import { Skeleton } from "../../kit/layout";
import { lookOfRun, Status, StatusGlyph, wordOf } from "../../kit/Status";
import { TextWithCode } from "../../kit/TextWithCode";
import { toast } from "../../kit/Toast";
import { visible, visibleLines } from "../../kit/visible";
import { addressOfRun } from "../addresses";
import { useRefusal } from "../refusal";
import { blockedText, subjectOf } from "../runs/words";
import { lossText, waitText } from "./instance-words";
import { AddInstance, type MadeToken, RuntimeSteps, rotateToken } from "./NewRuntime";
import { ConfirmDialog, List, refetch } from "./parts";
import css from "./settings.module.css";

/** Waiting runs say only one by one for which instance they wait, so that no more of them are read. */
const MAX_READ = 20;
/** A runtime comes and goes without an event of the feed. */
const REFETCH_MS = 10_000;
/** The pages of automations that a removal reads to name those that are placed there. */
const MAX_PAGES = 10;
const MAX_NAMED = 8;

export function Instances() {
  const refusal = useRefusal()("instances:write");
  const [adding, setAdding] = useState(false);
  const [made, setMade] = useState<MadeToken | null>(null);
  return (
    <>
      <div className={css.actions}>
        <Button refusal={refusal} onClick={() => setAdding(true)}>
          Add an instance
        </Button>
      </div>
      {made && <RuntimeSteps made={made} onDone={() => setMade(null)} />}
      <List<Instance>
        path="/instances"
        refetchMs={REFETCH_MS}
        empty="No instance yet: a server registers its data folder when it starts."
        command="matins serve"
        keyOf={(instance) => instance.id}
        render={(instance) => <InstanceRow instance={instance} />}
      />
      {adding && <AddInstance onClose={() => setAdding(false)} onMade={setMade} />}
    </>
  );
}

/** Reads the automations that are placed on an instance. */
async function automationsOn(instance: Instance): Promise<Automation[]> {
  const found: Automation[] = [];
  let after: string | null = null;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const read: AutomationPage = await get("/automations", { limit: 100, outcomes: 0, after });
    found.push(...read.items.filter((each) => each.placed_on === instance.id));
    after = read.next;
    if (after === null) break;
  }
  return found;
}

function InstanceRow({ instance }: { instance: Instance }) {
  const refusal = useRefusal()("instances:write");
  const [removing, setRemoving] = useState<Automation[] | null>(null);
  const [rotating, setRotating] = useState(false);
  const [made, setMade] = useState<MadeToken | null>(null);
  const [shown, setShown] = useState(false);
  const [busy, setBusy] = useState<"check" | "remove" | null>(null);
  const [findings, setFindings] = useState<InstanceFinding[] | null>(null);
  const [error, setError] = useState<string | null>(null);
  const act = async (name: NonNullable<typeof busy>, action: () => Promise<void>) => {
    setBusy(name);
    setError(null);
    try {
      await action();
    } catch (problem) {
      setError(errorText(problem));
    }
    setBusy(null);
  };
  const check = () =>
    act("check", async () => {
      const { data } = await request<InstanceCheck>("POST", `/instances/${instance.id}/check`);
      setFindings(data.findings);
      refetch("instances");
    });
  // The question names what is placed there, so that this is read before it is asked.
  const askToRemove = () => act("remove", async () => setRemoving(await automationsOn(instance)));
  const isFolder = instance.kind === "directory";
  const online = instance.state === "online";
  return (
    <>
      <div className={css.row}>
        <div>
          <strong>{visible(instance.name)}</strong>
          <Status look={online ? "succeeded" : "cancelled"} word={instance.state} />
          <small>
            {isFolder ? "A folder that a runtime watches" : "A server and its data folder"}
            {instance.version && `, version ${visible(instance.version)}`}.{" "}
            {instance.last_seen_at
              ? `Last seen ${dayAndTime(instance.last_seen_at)}. `
              : isFolder && "No runtime has watched it yet. "}
            {waitText(instance)}
          </small>
          {instance.folder != null && (
            <small>
              <code>{visible(instance.folder)}</code>
              {instance.runtime_folder != null && (
                <>
                  , for the runtime <code>{visible(instance.runtime_folder)}</code>
                </>
              )}
            </small>
          )}
        </div>
        {instance.waiting_runs > 0 && (
          <Button size="small" aria-expanded={shown} onClick={() => setShown(!shown)}>
            {shown ? "Hide what waits" : "Show what waits"}
          </Button>
        )}
        {isFolder && (
          <>
            <Button
              size="small"
              busy={busy === "check"}
              refusal={refusal}
              onClick={check}
              aria-label={`Check ${visible(instance.name)}`}
            >
              Check
            </Button>
            <Button
              size="small"
              refusal={refusal}
              onClick={() => setRotating(true)}
              aria-label={`New token for ${visible(instance.name)}`}
            >
              New token
            </Button>
          </>
        )}
        <Button
          size="small"
          busy={busy === "remove"}
          refusal={refusal ?? (online ? `A ${isFolder ? "runtime" : "server"} serves it` : null)}
          onClick={askToRemove}
          aria-label={`Remove ${visible(instance.name)}`}
        >
          Remove
        </Button>
      </div>
      {made && (
        <div className={css.made}>
          <RuntimeSteps made={made} onDone={() => setMade(null)} />
        </div>
      )}
      <div className={css.findings} role="status">
        {error !== null && (
          <FailureLine>
            <TextWithCode text={visibleLines(error)} />
          </FailureLine>
        )}
        {findings !== null && <Findings findings={findings} onHide={() => setFindings(null)} />}
      </div>
      {shown && <WaitingRuns instance={instance} />}
      {rotating && (
        <ConfirmDialog
          title={`Replace the token of ${instance.name}?`}
          note="A runtime with the earlier token is refused at once. A turn under way with it is lost, and follows as another attempt."
          action="Replace it"
          confirm={async () => setMade(await rotateToken(instance))}
          onClose={() => setRotating(false)}
        />
      )}
      {removing !== null && (
        <ConfirmDialog
          title={`Remove the instance ${instance.name}?`}
          note={<RemovalNote instance={instance} automations={removing} />}
          action="Remove"
          confirm={async () => {
            try {
              await request("DELETE", `/instances/${instance.id}`);
            } finally {
              // A refusal says that a runtime or a server has come meanwhile.
              refetch("instances", "automations", "sessions", "session");
            }
            toast(`${instance.name} is removed`);
          }}
          onClose={() => setRemoving(null)}
        />
      )}
    </>
  );
}

function RemovalNote({ instance, automations }: { instance: Instance; automations: Automation[] }) {
  const more = automations.length - MAX_NAMED;
  return (
    <>
      {automations.length > 0 && (
        <>
          <p>
            {automations.length === 1
              ? "1 automation is placed there, and fails until you edit it:"
              : `${automations.length} automations are placed there, and fail until you edit them:`}
          </p>
          <ul>
            {automations.slice(0, MAX_NAMED).map((each) => (
              <li key={each.id}>{visible(each.name)}</li>
            ))}
            {more > 0 && <li>{plural(more, "more", "more")}</li>}
          </ul>
        </>
      )}
      <p>
        {lossText(instance)} Conversations that are placed there take no more turns
        {instance.kind === "directory" && ", and the token of its runtime is revoked"}.
      </p>
    </>
  );
}

/** `true` if the run waits for the instance, for a file there, or for its runtime. */
function waitsFor(run: RunView, instance: Instance): boolean {
  return run.blocked_on != null && "instance" in run.blocked_on && run.blocked_on.instance === instance.id;
}

function WaitingRuns({ instance }: { instance: Instance }) {
  const list = useQuery({
    queryKey: [...keys.runs, "waiting"],
    queryFn: ({ signal }) =>
      get<Page<RunItem>>("/runs", { status: "queued,delivered", limit: MAX_READ }, signal),
  });
  const items = list.data?.items ?? [];
  const views = useQueries({
    queries: items.map((run) => ({
      queryKey: [...keys.runs, "one", run.id],
      queryFn: ({ signal }: { signal: AbortSignal }) => get<RunView>(`/runs/${run.id}`, {}, signal),
    })),
  });
  if (list.error) return <ErrorState error={list.error} onRetry={() => list.refetch()} />;
  if (list.data === undefined || views.some((view) => view.isLoading)) return <Skeleton rows={2} />;
  const waiting = views.flatMap((view) => (view.data && waitsFor(view.data, instance) ? [view.data] : []));
  return (
    <ul className={css.waiting} aria-label={`Runs that wait for ${visible(instance.name)}`}>
      {waiting.map((run) => (
        <li key={run.id}>
          <StatusGlyph look={lookOfRun(run)} title={wordOf(lookOfRun(run))} />
          <Link href={addressOfRun(run.id)}>{subjectOf(run)}</Link>
          <span>{run.blocked_on && blockedText(run.blocked_on)}</span>
        </li>
      ))}
      {waiting.length < instance.waiting_runs && (
        <li>
          <Link href="/runs?status=open">All open runs</Link>
        </li>
      )}
    </ul>
  );
}

function Findings({ findings, onHide }: { findings: InstanceFinding[]; onHide(): void }) {
  const wrong = findings.filter((finding) => !finding.ok).length;
  return (
    <>
      <p>
        {wrong === 0
          ? `${plural(findings.length, "check")} passed.`
          : `${wrong} of ${plural(findings.length, "check")} ${wrong === 1 ? "needs" : "need"} you.`}
        <button type="button" onClick={onHide}>
          Hide
        </button>
      </p>
      <ul>
        {findings.map(({ check, ok, message, hint }) => (
          <li key={check} data-ok={ok}>
            <StatusGlyph look={ok ? "succeeded" : "failed"} title={ok ? "passed" : "failed"} />
            <strong>{check}</strong>
            <span>
              <TextWithCode text={visibleLines(sentence(message))} />
              {hint != null && (
                <small>
                  <TextWithCode text={visibleLines(sentence(hint))} />
                </small>
              )}
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}
