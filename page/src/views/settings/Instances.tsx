import { useState } from "react";
import { request } from "../../api/client";
import type { Instance } from "../../api/types";
import { Button } from "../../kit/Button";
import { dayAndTime } from "../../kit/format";
import { Status } from "../../kit/Status";
import { toast } from "../../kit/Toast";
import { useRefusal } from "../refusal";
import { ConfirmDialog, List, refetch } from "./parts";
import css from "./settings.module.css";

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

/** Returns what waits for an instance, and why. Empty if nothing does. */
export function waitText({ state, waiting_runs: runs, automations_too_new: tooNew }: Instance): string {
  const run = runs === 1 ? "1 run waits" : `${runs} runs wait`;
  const automation = tooNew === 1 ? "1 automation needs" : `${tooNew} automations need`;
  return [
    runs > 0 &&
      (state === "online"
        ? `${run} for ${runs === 1 ? "its turn" : "their turns"} there.`
        : `${run} until a server serves it again.`),
    tooNew > 0 && `${automation} a later version.`,
  ]
    .filter(Boolean)
    .join(" ");
}

/** Returns what goes with an instance. */
export function lossText({ waiting_runs: runs }: Instance): string {
  const lost = "The memories of agents in its data folder count as lost";
  return runs === 0
    ? `${lost}.`
    : `${lost}, and ${runs === 1 ? "1 waiting run fails" : `${runs} waiting runs fail`}.`;
}

function InstanceRow({ instance }: { instance: Instance }) {
  const refusal = useRefusal()("instances:write");
  const [removing, setRemoving] = useState(false);
  const online = instance.state === "online";
  return (
    <div className={css.row}>
      <div>
        <strong>{instance.name}</strong>
        <Status look={online ? "succeeded" : "cancelled"} word={instance.state} />
        <small>
          {instance.version && `version ${instance.version}. `}
          {instance.last_seen_at && `Last seen ${dayAndTime(instance.last_seen_at)}. `}
          {waitText(instance)}
        </small>
      </div>
      <Button
        size="small"
        refusal={refusal ?? (online ? "A server runs it" : null)}
        onClick={() => setRemoving(true)}
        aria-label={`Remove ${instance.name}`}
      >
        Remove
      </Button>
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
    </div>
  );
}
