import { useQueries, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { get, request } from "../../api/client";
import { keys } from "../../api/queries";
import type { Instance, InstanceCheck, InstanceFinding, Page, RunItem, RunView } from "../../api/types";
import { Button } from "../../kit/Button";
import { ErrorState, errorText, FailureLine, sentence } from "../../kit/ErrorState";
import { dayAndTime, plural } from "../../kit/format";
import { Skeleton } from "../../kit/layout";
import { Status, StatusGlyph } from "../../kit/Status";
import { TextWithCode } from "../../kit/TextWithCode";
import { toast } from "../../kit/Toast";
import { addressOfRun } from "../addresses";
import { useRefusal } from "../refusal";
import { blockedText, subjectOf } from "../runs/words";
import { ConfirmDialog, List, refetch } from "./parts";
import css from "./settings.module.css";

/** Waiting runs say only one by one for which instance they wait, so that no more of them are read. */
const MAX_READ = 20;

export function Instances() {
  return (
    <List<Instance>
      path="/instances"
      empty="No instance yet: a server registers its data folder when it starts."
      command="matins serve"
      keyOf={(instance) => instance.id}
      render={(instance) => <InstanceRow instance={instance} />}
    />
  );
}

/** Says what waits for an instance, and why. Empty if nothing does. */
export function waitText(instance: Instance): string {
  const {
    kind,
    state,
    waiting_runs: runs,
    delivered_runs: delivered = 0,
    automations_too_new: tooNew,
  } = instance;
  const run = runs === 1 ? "1 run waits" : `${runs} runs wait`;
  const automation = tooNew === 1 ? "1 automation needs" : `${tooNew} automations need`;
  const files =
    delivered === 0
      ? ""
      : delivered === runs
        ? ", delivered as a file"
        : `, ${delivered} of them delivered as files`;
  const cause =
    state === "online"
      ? `for ${runs === 1 ? "its turn" : "their turns"} there`
      : kind === "directory"
        ? "until a runtime watches its folder again"
        : "until a server serves it again";
  return [runs > 0 && `${run} ${cause}${files}.`, tooNew > 0 && `${automation} a later version.`]
    .filter(Boolean)
    .join(" ");
}

/** Says what goes with an instance. */
export function lossText({ kind, waiting_runs: runs }: Instance): string {
  const lost = `The memories of agents in its ${kind === "directory" ? "" : "data "}folder count as lost`;
  return runs === 0
    ? `${lost}.`
    : `${lost}, and ${runs === 1 ? "1 waiting run fails" : `${runs} waiting runs fail`}.`;
}

function InstanceRow({ instance }: { instance: Instance }) {
  const refusal = useRefusal()("instances:write");
  const [removing, setRemoving] = useState(false);
  const [shown, setShown] = useState(false);
  const [busy, setBusy] = useState(false);
  const [findings, setFindings] = useState<InstanceFinding[] | null>(null);
  const [error, setError] = useState<string | null>(null);
  const check = async () => {
    setBusy(true);
    setError(null);
    try {
      const { data } = await request<InstanceCheck>("POST", `/instances/${instance.id}/check`);
      setFindings(data.findings);
      refetch("instances");
    } catch (problem) {
      setError(errorText(problem));
    }
    setBusy(false);
  };
  const isFolder = instance.kind === "directory";
  const online = instance.state === "online";
  return (
    <>
      <div className={css.row}>
        <div>
          <strong>{instance.name}</strong>
          <Status look={online ? "succeeded" : "cancelled"} word={instance.state} />
          <small>
            {isFolder ? "A folder that a runtime watches" : "A server and its data folder"}
            {instance.version && `, version ${instance.version}`}.{" "}
            {instance.last_seen_at && `Last seen ${dayAndTime(instance.last_seen_at)}. `}
            {waitText(instance)}
          </small>
          {instance.folder != null && (
            <small>
              <code>{instance.folder}</code>
              {instance.runtime_folder != null && (
                <>
                  , for the runtime <code>{instance.runtime_folder}</code>
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
          <Button
            size="small"
            busy={busy}
            refusal={refusal}
            onClick={check}
            aria-label={`Check ${instance.name}`}
          >
            Check
          </Button>
        )}
        <Button
          size="small"
          refusal={refusal ?? (online ? `A ${isFolder ? "runtime" : "server"} serves it` : null)}
          onClick={() => setRemoving(true)}
          aria-label={`Remove ${instance.name}`}
        >
          Remove
        </Button>
      </div>
      <div className={css.findings} role="status">
        {error !== null && <FailureLine>{error}</FailureLine>}
        {findings !== null && <Findings findings={findings} />}
      </div>
      {shown && <WaitingRuns instance={instance} />}
      {removing && (
        <ConfirmDialog
          title={`Remove the instance ${instance.name}?`}
          note={lossText(instance)}
          action="Remove"
          confirm={async () => {
            await request("DELETE", `/instances/${instance.id}`);
            refetch("instances");
            toast(`${instance.name} is removed`);
          }}
          onClose={() => setRemoving(false)}
        />
      )}
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
    <ul className={css.waiting} aria-label={`Runs that wait for ${instance.name}`}>
      {waiting.map((run) => (
        <li key={run.id}>
          <StatusGlyph look="queued" />
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

function Findings({ findings }: { findings: InstanceFinding[] }) {
  const wrong = findings.filter((finding) => !finding.ok);
  if (wrong.length === 0) {
    return (
      <p>
        <StatusGlyph look="succeeded" /> {plural(findings.length, "check")} passed.
      </p>
    );
  }
  return wrong.map((finding) => (
    <p key={finding.check}>
      <StatusGlyph look="failed" />
      <span>
        <TextWithCode text={`${sentence(finding.message)} ${sentence(finding.hint)}`} />
      </span>
    </p>
  ));
}
