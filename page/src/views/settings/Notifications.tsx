import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { get, newKey, post, request } from "../../api/client";
import { keyedSender } from "../../api/keyed";
import type { Delivery, Endpoint, EndpointCreated, NotificationKind, Page } from "../../api/types";
import { Button } from "../../kit/Button";
import { ErrorState, errorText } from "../../kit/ErrorState";
import { dayAndTime } from "../../kit/format";
import { Field, Skeleton } from "../../kit/layout";
import { Status } from "../../kit/Status";
import { toast } from "../../kit/Toast";
import { visible } from "../../kit/visible";
import { useRefusal } from "../refusal";
import { ConfirmDialog, FormDialog, List, refetch, Secret } from "./parts";
import css from "./settings.module.css";

const KINDS: { value: NotificationKind; label: string }[] = [
  { value: "run.failed", label: "a run failed" },
  { value: "run.missed", label: "a run did not happen" },
  { value: "approval.requested", label: "an approval waits" },
  { value: "question.asked", label: "an agent asks a question" },
  { value: "goal.stuck", label: "a goal is stuck" },
  { value: "goal.failed", label: "a goal failed" },
  { value: "goal.paused", label: "a goal is paused" },
  { value: "goal.done", label: "a goal is done" },
  { value: "automation.paused", label: "an automation is paused" },
  { value: "automation.attention", label: "an automation needs attention" },
  { value: "run.succeeded", label: "a run succeeded" },
  { value: "run.skipped", label: "a run was skipped" },
  { value: "message.published", label: "an agent answered" },
  { value: "session.state", label: "a conversation changed its state" },
];

export function Notifications() {
  const refusal = useRefusal()("notifications:write");
  const [adding, setAdding] = useState(false);
  const [made, setMade] = useState<EndpointCreated | null>(null);
  return (
    <>
      <div className={css.actions}>
        <Button refusal={refusal} onClick={() => setAdding(true)}>
          New endpoint
        </Button>
      </div>
      {made && (
        <Secret
          title={`The secret that signs for ${made.name}`}
          secret={made.secret}
          onDone={() => setMade(null)}
        />
      )}
      <List<Endpoint>
        path="/endpoints"
        empty="No endpoint yet. An endpoint receives signed notifications over HTTPS."
        command="matins endpoint add --event run.failed alerts https://example.com/hook"
        keyOf={(endpoint) => endpoint.id}
        render={(endpoint) => <EndpointRow endpoint={endpoint} refusal={refusal} />}
      />
      {adding && <AddEndpoint onClose={() => setAdding(false)} onMade={setMade} />}
    </>
  );
}

function EndpointRow({ endpoint, refusal }: { endpoint: Endpoint; refusal: string | null }) {
  const [open, setOpen] = useState(false);
  const [deleting, setDeleting] = useState(false);
  const path = `/endpoints/${endpoint.id}`;
  const disabled = endpoint.disabled_at !== null;
  const act = async (action: () => Promise<unknown>, done: string) => {
    try {
      await action();
      refetch("endpoints", "deliveries");
      toast(done);
    } catch (error) {
      toast(errorText(error));
    }
  };
  const look = disabled ? "paused" : endpoint.failing_since !== null ? "failed" : "succeeded";
  return (
    <>
      <div className={css.row}>
        <div>
          <strong>{visible(endpoint.name)}</strong>
          <Status
            look={look}
            word={disabled ? "disabled" : endpoint.failing_since !== null ? "failing" : "active"}
          />
          <code className="truncate">{visible(endpoint.url)}</code>
          <small>
            {endpoint.events.join(", ")}
            {endpoint.disabled_reason && `. ${visible(endpoint.disabled_reason)}`}
          </small>
        </div>
        <Button
          size="small"
          refusal={refusal}
          onClick={() =>
            act(() => post(`${path}/test`, { idempotencyKey: newKey() }), `A test goes to ${endpoint.name}`)
          }
        >
          Test
        </Button>
        <Button
          size="small"
          refusal={refusal}
          onClick={() =>
            disabled
              ? act(() => post(`${path}/enable`), `${endpoint.name} is enabled`)
              : act(() => post(`${path}/disable`), `${endpoint.name} is disabled`)
          }
        >
          {disabled ? "Enable" : "Disable"}
        </Button>
        <Button size="small" aria-expanded={open} onClick={() => setOpen(!open)}>
          Deliveries
        </Button>
        <Button
          size="small"
          refusal={refusal}
          onClick={() => setDeleting(true)}
          aria-label={`Delete ${visible(endpoint.name)}`}
        >
          Delete
        </Button>
      </div>
      {open && <Deliveries endpoint={endpoint} />}
      {deleting && (
        <ConfirmDialog
          title={`Delete the endpoint ${endpoint.name}?`}
          note="It receives nothing more, and its deliveries go."
          action="Delete"
          confirm={async () => {
            await request("DELETE", path);
            refetch("endpoints");
            toast(`${endpoint.name} is deleted`);
          }}
          onClose={() => setDeleting(false)}
        />
      )}
    </>
  );
}

function Deliveries({ endpoint }: { endpoint: Endpoint }) {
  const list = useQuery({
    queryKey: ["deliveries", endpoint.id],
    queryFn: ({ signal }) =>
      get<Page<Delivery>>(`/endpoints/${endpoint.id}/deliveries`, { limit: 20 }, signal),
    refetchInterval: 5_000,
  });
  if (list.error) return <ErrorState error={list.error} onRetry={() => list.refetch()} />;
  if (list.data === undefined) return <Skeleton rows={3} />;
  return (
    <ul className={css.deliveries}>
      {list.data.items.length === 0 && <li>Nothing was sent yet.</li>}
      {list.data.items.map((delivery) => (
        <li key={delivery.id}>
          <Status
            look={
              delivery.state === "delivered" ? "succeeded" : delivery.state === "failed" ? "failed" : "queued"
            }
            word={delivery.state}
          />
          <span>{delivery.kind}</span>
          <span className="truncate">
            {delivery.last_error === null
              ? delivery.last_status !== null && `HTTP ${delivery.last_status}`
              : visible(delivery.last_error)}
          </span>
          <time dateTime={delivery.created_at}>{dayAndTime(delivery.created_at)}</time>
        </li>
      ))}
    </ul>
  );
}

function AddEndpoint({ onClose, onMade }: { onClose(): void; onMade(endpoint: EndpointCreated): void }) {
  const [sendKeyed] = useState(keyedSender);
  const [name, setName] = useState("");
  const [url, setUrl] = useState("");
  const [kinds, setKinds] = useState<NotificationKind[]>(["run.failed", "run.missed", "approval.requested"]);
  const toggle = (kind: NotificationKind) =>
    setKinds((now) => (now.includes(kind) ? now.filter((each) => each !== kind) : [...now, kind]));
  return (
    <FormDialog
      title="New endpoint"
      note="Notifications are signed with a secret that is shown once."
      action="Add"
      submit={async () => {
        const body = { name: name.trim(), url: url.trim(), events: kinds };
        const { data } = await sendKeyed(body, (idempotencyKey) =>
          request<EndpointCreated>("POST", "/endpoints", { body, idempotencyKey }),
        );
        refetch("endpoints");
        onMade(data);
      }}
      onClose={onClose}
    >
      <Field label="Name" value={name} required onChange={(event) => setName(event.target.value)} />
      <Field
        label="URL"
        value={url}
        required
        placeholder="https://example.com/hook"
        onChange={(event) => setUrl(event.target.value)}
      />
      <fieldset className={css.kinds}>
        <legend>When</legend>
        {KINDS.map((kind) => (
          <label key={kind.value} className={css.check}>
            <input type="checkbox" checked={kinds.includes(kind.value)} onChange={() => toggle(kind.value)} />
            {kind.label}
          </label>
        ))}
      </fieldset>
    </FormDialog>
  );
}
