-- Budgets: what a tenant may use, and what was used. The same as ../sqlite/0007_budgets.sql.

-- What all of a tenant's runs may use; null: as much as they like. An automation's is among its policies.
alter table tenants add column budget jsonb;

-- What the agent last reported of its session, from which the next turn's use is worked out.
alter table agent_definitions add column usage jsonb;

-- What was used, by spender, day and currency: a spender is an automation, or the tenant itself for the
-- turns of people. Tokens and turns of agents that tell no cost stand under the empty currency.
create table spending (
    tenant_id uuid not null references tenants (id),
    spender_id uuid not null,
    automation_id uuid,
    day timestamptz not null,
    currency text not null,
    tokens bigint not null,
    cost bigint not null,
    turns bigint not null,
    primary key (spender_id, day, currency),
    foreign key (tenant_id, automation_id) references automations (tenant_id, id),
    constraint spending_spender_is_known check (spender_id = coalesce(automation_id, tenant_id)),
    constraint spending_counted check (tokens >= 0 and cost >= 0 and turns >= 0)
);
create index spending_by_tenant on spending (tenant_id, day);
create index spending_by_age on spending (day);
create policy scope on spending using (
    (select current_setting('matins.scope', true)) = 'system'
    or tenant_id = (select nullif(current_setting('matins.tenant', true), '')::uuid)
);
alter table spending enable row level security;
alter table spending force row level security;
