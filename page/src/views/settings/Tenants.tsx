import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { get, request } from "../../api/client";
import { keyedSender } from "../../api/keyed";
import type { BudgetUsage, Tenant, TenantCreated } from "../../api/types";
import { Button } from "../../kit/Button";
import { count, money, plural } from "../../kit/format";
import { Field } from "../../kit/layout";
import { toast } from "../../kit/Toast";
import { visible } from "../../kit/visible";
import { budgetText } from "../automations/policies";
import { useRefusal } from "../refusal";
import { FormDialog, List, refetch, Secret } from "./parts";
import css from "./settings.module.css";

export function Tenants() {
  const refusal = useRefusal()("tenants:write");
  const [adding, setAdding] = useState(false);
  const [made, setMade] = useState<TenantCreated | null>(null);
  return (
    <>
      <div className={css.actions}>
        <Button refusal={refusal} onClick={() => setAdding(true)}>
          New tenant
        </Button>
      </div>
      {made && (
        <Secret
          title={`The token of the first admin of ${made.tenant.name}`}
          secret={made.token.secret}
          onDone={() => setMade(null)}
        />
      )}
      <List<Tenant>
        path="/tenants"
        empty="No tenant."
        command="matins tenant list"
        keyOf={(tenant) => tenant.id}
        render={(tenant) => <TenantRow tenant={tenant} refusal={refusal} />}
      />
      {adding && <AddTenant onClose={() => setAdding(false)} onMade={setMade} />}
    </>
  );
}

function TenantRow({ tenant, refusal }: { tenant: Tenant; refusal: string | null }) {
  const [editing, setEditing] = useState(false);
  const usage = useQuery({
    queryKey: ["tenants", "usage", tenant.id],
    queryFn: ({ signal }) => get<BudgetUsage>(`/tenants/${tenant.id}/usage`, {}, signal),
  });
  const month = usage.data?.month;
  const cost = month?.cost.map((each) => money(Number(each.amount), each.currency)).join(" + ");
  return (
    <div className={css.row}>
      <div>
        <strong>{visible(tenant.name)}</strong>
        <span>{budgetText(tenant.budget)}</span>
        <small>
          {month &&
            `This month, in UTC: ${[cost, month.tokens > 0 ? `${count(month.tokens)} tokens` : "", plural(month.turns, "turn")].filter(Boolean).join(", ")}`}
        </small>
      </div>
      <Button
        size="small"
        refusal={refusal}
        onClick={() => setEditing(true)}
        aria-label={`Budget of ${visible(tenant.name)}`}
      >
        Budget
      </Button>
      {editing && <EditBudget tenant={tenant} onClose={() => setEditing(false)} />}
    </div>
  );
}

function EditBudget({ tenant, onClose }: { tenant: Tenant; onClose(): void }) {
  const { budget } = tenant;
  const [day, setDay] = useState(budget.day.cost?.amount ?? "");
  const [month, setMonth] = useState(budget.month.cost?.amount ?? "");
  const [currency, setCurrency] = useState(budget.day.cost?.currency ?? budget.month.cost?.currency ?? "USD");
  const amount = (text: string) =>
    text.trim() === "" ? null : { amount: text.trim().replace(",", "."), currency };
  return (
    <FormDialog
      title={`Budget of ${tenant.name}`}
      note="All runs together, by days and months of UTC. Other limits stay as they are."
      action="Save"
      submit={async () => {
        const { data, etag } = await request<Tenant>("GET", `/tenants/${tenant.id}`);
        await request("PUT", `/tenants/${tenant.id}/budget`, {
          body: {
            ...data.budget,
            day: { ...data.budget.day, cost: amount(day) },
            month: { ...data.budget.month, cost: amount(month) },
          },
          ...(etag === null ? {} : { ifMatch: etag }),
        });
        refetch("tenants", "overview");
        toast(`The budget of ${tenant.name} is saved`);
      }}
      onClose={onClose}
    >
      <Field
        label="Cost a day"
        inputMode="decimal"
        value={day}
        note="Empty: no limit."
        onChange={(event) => setDay(event.target.value)}
      />
      <Field
        label="Cost a month"
        inputMode="decimal"
        value={month}
        onChange={(event) => setMonth(event.target.value)}
      />
      <Field
        label="Currency"
        value={currency}
        maxLength={3}
        onChange={(event) => setCurrency(event.target.value.toUpperCase())}
      />
    </FormDialog>
  );
}

function AddTenant({ onClose, onMade }: { onClose(): void; onMade(tenant: TenantCreated): void }) {
  const [sendKeyed] = useState(keyedSender);
  const [name, setName] = useState("");
  return (
    <FormDialog
      title="New tenant"
      note="A tenant sees nothing of the others. Its first admin gets a token that is shown once."
      action="Make it"
      submit={async () => {
        const body = { name: name.trim() };
        const { data } = await sendKeyed(body, (idempotencyKey) =>
          request<TenantCreated>("POST", "/tenants", { body, idempotencyKey }),
        );
        refetch("tenants");
        onMade(data);
      }}
      onClose={onClose}
    >
      <Field label="Name" value={name} required onChange={(event) => setName(event.target.value)} />
    </FormDialog>
  );
}
