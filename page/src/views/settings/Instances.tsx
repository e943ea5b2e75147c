import { useState } from "react";
import { request } from "../../api/client";
import type { Instance } from "../../api/types";
import { Button } from "../../kit/Button";
import { dayAndTime, plural } from "../../kit/format";
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
          {instance.waiting_runs > 0 && `${plural(instance.waiting_runs, "run")} waits for it. `}
          {instance.automations_too_new > 0 &&
            `${plural(instance.automations_too_new, "automation")} needs a later version.`}
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
          note={`The memories of agents in its data folder count as lost${
            instance.waiting_runs > 0 ? `, and ${plural(instance.waiting_runs, "waiting run")} fails` : ""
          }.`}
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
