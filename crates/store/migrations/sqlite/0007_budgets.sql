-- Budgets: what a tenant may use, and what was used. The same as ../postgres/0007_budgets.sql.

-- What all of a tenant's runs may use; null: as much as they like. An automation's is among its policies.
alter table tenants add column budget text check (json_valid(budget));

-- What the agent last reported of its session, from which the next turn's use is worked out.
alter table agent_definitions add column usage text check (json_valid(usage));

-- What was used, by spender, day and currency: a spender is an automation, or the tenant itself for the
-- turns of people. Tokens and turns of agents that tell no cost stand under the empty currency.
create table spending (
    tenant_id blob not null references tenants (id),
    spender_id blob not null,
    automation_id blob,
    day integer not null,
    currency text not null,
    tokens integer not null,
    cost integer not null,
    turns integer not null,
    primary key (spender_id, day, currency),
    foreign key (tenant_id, automation_id) references automations (tenant_id, id),
    constraint spending_spender_is_known check (spender_id = coalesce(automation_id, tenant_id)),
    constraint spending_counted check (tokens >= 0 and cost >= 0 and turns >= 0)
) strict;
create index spending_by_tenant on spending (tenant_id, day);
create index spending_by_age on spending (day);
