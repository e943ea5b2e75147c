-- Webhooks that come in, and notifications that go out. The same as ../postgres/0006_webhooks.sql.

-- Nothing has written into either of these so far; they are made anew below.
drop table webhook_receipts;
drop table webhook_deliveries;

-- The secrets with which webhooks are signed that fire a trigger: the one that holds, and the one before
-- for as long as it holds as well. Apart from the trigger, which is shown.
create table webhook_secrets (
    trigger_id blob primary key,
    tenant_id blob not null,
    secret text not null,
    previous_secret text,
    previous_until integer,
    created_at integer not null,
    updated_at integer not null,
    foreign key (tenant_id, trigger_id) references automation_triggers (tenant_id, id),
    constraint webhook_secrets_previous_has_an_end
        check ((previous_secret is null) = (previous_until is null))
) strict;

-- Ids of received webhooks, so that a replay changes nothing and is answered like the first time. The
-- run is named and not referred to: a replay must be known though the run is gone.
create table webhook_receipts (
    trigger_id blob not null,
    webhook_id text not null,
    tenant_id blob not null,
    run_id blob not null,
    received_at integer not null,
    primary key (trigger_id, webhook_id),
    foreign key (tenant_id, trigger_id) references automation_triggers (tenant_id, id)
) strict;
create index webhook_receipts_by_age on webhook_receipts (received_at);

-- What came with a webhook, beside the first attempt at it.
create table webhook_payloads (
    run_id blob primary key,
    tenant_id blob not null,
    payload text not null,
    foreign key (tenant_id, run_id) references agent_runs (tenant_id, id) on delete cascade
) strict;

-- Where notifications go. `cursor` is how far the tenant's feed has been read for it.
create table notification_endpoints (
    id blob primary key,
    tenant_id blob not null references tenants (id),
    name text not null,
    url text not null,
    events text not null check (json_valid(events)),
    automation_id blob,
    channel text,
    secret text not null,
    previous_secret text,
    previous_until integer,
    cursor text not null,
    failing_since integer,
    disabled_at integer,
    disabled_reason text,
    created_at integer not null,
    updated_at integer not null,
    foreign key (tenant_id, automation_id) references automations (tenant_id, id),
    constraint notification_endpoints_previous_has_an_end
        check ((previous_secret is null) = (previous_until is null)),
    constraint notification_endpoints_disabled_has_a_reason
        check ((disabled_at is null) = (disabled_reason is null))
) strict;
create unique index notification_endpoints_of_tenant on notification_endpoints (tenant_id, id);
create unique index notification_endpoints_one_per_name on notification_endpoints (tenant_id, name);
create index notification_endpoints_by_automation on notification_endpoints (automation_id)
    where automation_id is not null;

-- Notifications on their way out, one for each event and endpoint. While one is being sent,
-- `leased_until` is when whoever sends it counts as lost; `attempts` is the fence of that attempt.
create table webhook_deliveries (
    id blob primary key,
    tenant_id blob not null,
    endpoint_id blob not null,
    session_id blob,
    event_id text not null,
    kind text not null,
    body text not null,
    state text not null,
    attempts integer not null default 0,
    next_attempt_at integer,
    leased_until integer,
    last_status integer,
    last_error text,
    ended_at integer,
    created_at integer not null,
    foreign key (tenant_id, endpoint_id) references notification_endpoints (tenant_id, id)
        on delete cascade,
    foreign key (tenant_id, session_id) references agent_sessions (tenant_id, id)
        on delete cascade,
    constraint webhook_deliveries_state_known
        check (state in ('pending', 'delivered', 'failed')),
    constraint webhook_deliveries_pending_has_a_next
        check ((state = 'pending') = (next_attempt_at is not null)),
    constraint webhook_deliveries_lease_is_of_pending
        check (leased_until is null or state = 'pending'),
    constraint webhook_deliveries_over_has_an_end
        check ((state = 'pending') = (ended_at is null)),
    constraint webhook_deliveries_attempts_counted check (attempts >= 0)
) strict;
create unique index webhook_deliveries_of_tenant on webhook_deliveries (tenant_id, id);
create unique index webhook_deliveries_one_per_event on webhook_deliveries (endpoint_id, event_id);
create index webhook_deliveries_by_endpoint on webhook_deliveries (endpoint_id, id);
create index webhook_deliveries_by_session on webhook_deliveries (session_id)
    where session_id is not null;
create index webhook_deliveries_due on webhook_deliveries (next_attempt_at, endpoint_id)
    where state = 'pending';

-- What became of each attempt at a delivery.
create table webhook_attempts (
    delivery_id blob not null,
    number integer not null,
    tenant_id blob not null,
    status integer,
    error text,
    answer text,
    started_at integer not null,
    ended_at integer not null,
    primary key (delivery_id, number),
    foreign key (tenant_id, delivery_id) references webhook_deliveries (tenant_id, id)
        on delete cascade,
    constraint webhook_attempts_counted check (number >= 1),
    constraint webhook_attempts_answered_or_not check ((status is null) = (error is not null))
) strict;
