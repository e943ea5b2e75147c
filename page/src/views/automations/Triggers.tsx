import { useState } from "react";
import { get, request } from "../../api/client";
import { postKeyed } from "../../api/keyed";
import { keys, queryClient } from "../../api/queries";
import type { AutomationView, SecretRotated, Trigger, WebhookSecret } from "../../api/types";
import { Button } from "../../kit/Button";
import { Copy } from "../../kit/Copy";
import { errorText } from "../../kit/ErrorState";
import { dayAndTime } from "../../kit/format";
import { NoLines } from "../../kit/List";
import { Panel } from "../../kit/layout";
import listCss from "../../kit/list.module.css";
import { toast } from "../../kit/Toast";
import { useRefusal } from "../refusal";
import css from "./automations.module.css";
import { triggerWords } from "./schedule";

/** The triggers of an automation, each with its next instant; a webhook shows its address and its secret. */
export function Triggers({ automation }: { automation: AutomationView }) {
  const refusal = useRefusal()("automations:write");
  const [busy, setBusy] = useState(false);
  const shown = automation.triggers.filter((trigger) => trigger.spec.kind !== "manual");
  const addWebhook = async () => {
    setBusy(true);
    try {
      const path = `/automations/${automation.id}/triggers`;
      const { isReplay } = await postKeyed(path, { kind: "webhook" });
      if (isReplay) toast("The webhook was added before. To add another one, click once more.");
      queryClient.invalidateQueries({ queryKey: keys.automations });
    } catch (error) {
      toast(errorText(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Panel
      title="Triggers"
      aside={
        <Button size="small" busy={busy} refusal={refusal} onClick={addWebhook}>
          Add a webhook
        </Button>
      }
    >
      {shown.length === 0 && <NoLines>None: it runs on demand.</NoLines>}
      <ul className={`${listCss.lines} ${css.history}`}>
        {shown.map((trigger) => (
          <TriggerRow key={trigger.id} automation={automation} trigger={trigger} refusal={refusal} />
        ))}
      </ul>
    </Panel>
  );
}

function TriggerRow(props: { automation: AutomationView; trigger: Trigger; refusal: string | null }) {
  const { automation, trigger, refusal } = props;
  const [secret, setSecret] = useState<WebhookSecret | null>(null);
  const path = `/automations/${automation.id}/triggers/${trigger.id}`;
  const isWebhook = trigger.spec.kind === "webhook";
  const zone = "zone" in trigger.spec ? trigger.spec.zone : null;
  const attempt = async (action: () => Promise<unknown>) => {
    try {
      await action();
    } catch (error) {
      toast(errorText(error));
    }
  };
  const remove = () =>
    attempt(async () => {
      await request("DELETE", path);
      queryClient.invalidateQueries({ queryKey: keys.automations });
      toast("The trigger is removed");
    });
  const show = () => attempt(async () => setSecret(await get<WebhookSecret>(`${path}/secret`)));
  const rotate = () =>
    attempt(async () => {
      // A second rotation would end the secret that the sender of the webhook has.
      const { data: rotated } = await postKeyed<SecretRotated>(`${path}/rotate-secret`);
      toast(`The former secret holds until ${dayAndTime(rotated.previous_until)}`);
      if (rotated.secret !== null && secret !== null) setSecret({ ...secret, secret: rotated.secret });
      else {
        // A repeated request returns no secret. If the read fails, the former one must not look like the present one.
        setSecret(null);
        await show();
      }
    });
  return (
    <li className={css.trigger}>
      <div>
        <strong>{triggerWords(trigger.spec)}</strong>
        <small>
          {trigger.done_at !== null
            ? "fired for the last time"
            : trigger.next_fire_at !== null
              ? `next ${dayAndTime(trigger.next_fire_at)}`
              : ""}
          {zone && `, ${zone}`}
        </small>
        <span className={css.space} />
        {isWebhook && (
          <Button size="small" refusal={refusal} onClick={secret ? () => setSecret(null) : show}>
            {secret ? "Hide" : "Address and secret"}
          </Button>
        )}
        <Button size="small" refusal={refusal} onClick={remove}>
          Remove
        </Button>
      </div>
      {secret && (
        <dl className={css.secret}>
          <dt>Address</dt>
          <dd>
            <code>{`${window.location.origin}${secret.path}`}</code>
            <Copy text={`${window.location.origin}${secret.path}`} />
          </dd>
          <dt>Secret</dt>
          <dd>
            <code>{secret.secret}</code>
            <Copy text={secret.secret} />
            <Button size="small" onClick={rotate}>
              Rotate
            </Button>
          </dd>
        </dl>
      )}
    </li>
  );
}
