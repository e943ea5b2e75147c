-- A feed of everything that a tenant may see, in an order that follows commits. The same as
-- ../sqlite/0005_order_of_commits.sql, which counts its transactions itself.

-- Rows that are there stand before all others. Each further one names the transaction that writes it:
-- whoever reads only what is below the oldest transaction under way never sees one come late.
alter table session_events add column transaction_id bigint not null default 0;
alter table session_events
    alter column transaction_id set default (pg_current_xact_id()::text::bigint);
create index session_events_by_commit
    on session_events (tenant_id, transaction_id, session_id, seq);

alter table automations add column last_seq bigint not null default 0;
alter table automations
    add constraint automations_last_seq_counted check (last_seq >= 0);

-- An automation's own log: what has no session. Numbered under the lock of the automation's row.
create table automation_events (
    automation_id uuid not null,
    seq bigint not null,
    tenant_id uuid not null,
    transaction_id bigint not null default (pg_current_xact_id()::text::bigint),
    kind text not null,
    ref_id uuid not null,
    body jsonb not null,
    created_at timestamptz not null,
    primary key (automation_id, seq),
    foreign key (tenant_id, automation_id) references automations (tenant_id, id),
    constraint automation_events_kind_known check (kind in ('automation', 'run')),
    constraint automation_events_seq_counted check (seq >= 1)
);
create index automation_events_by_commit
    on automation_events (tenant_id, transaction_id, automation_id, seq);

-- The last event of a tenant's feed that retention has removed.
create table feed_trims (
    tenant_id uuid primary key references tenants (id),
    transaction_id bigint not null,
    log_id uuid not null,
    seq bigint not null
);

do $$
declare
    owned text;
begin
    foreach owned in array array['automation_events', 'feed_trims']
    loop
        execute format(
            'create policy scope on %I using ('
            || '(select current_setting(''matins.scope'', true)) = ''system'''
            || ' or tenant_id = (select nullif(current_setting(''matins.tenant'', true), '''')::uuid))',
            owned);
        execute format('alter table %I enable row level security', owned);
        execute format('alter table %I force row level security', owned);
    end loop;
end
$$;

-- Wakes readers as `wake_sessions` does: those of an automation's log, of text being written, and of
-- sessions that are gone.
create function wake_automations() returns trigger
language plpgsql
set search_path = automation, pg_temp
as $$
begin
    perform pg_notify('matins_wake', changed.automation_id::text)
    from (select distinct automation_id from inserted) changed;
    return null;
end
$$;

create trigger automation_events_wake
    after insert on automation_events
    referencing new table as inserted
    for each statement execute function wake_automations();

create function wake_viewers() returns trigger
language plpgsql
set search_path = automation, pg_temp
as $$
begin
    perform pg_notify('matins_wake', changed.session_id::text)
    from (
        select distinct r.session_id
        from written w
        join agent_runs r on r.id = w.run_id
    ) changed;
    return null;
end
$$;

create trigger run_live_wake
    after insert on run_live
    referencing new table as written
    for each statement execute function wake_viewers();

create trigger run_live_wake_again
    after update on run_live
    referencing new table as written
    for each statement execute function wake_viewers();

create function wake_deleted() returns trigger
language plpgsql
set search_path = automation, pg_temp
as $$
begin
    perform pg_notify('matins_wake', gone.id::text) from gone;
    return null;
end
$$;

create trigger agent_sessions_wake
    after delete on agent_sessions
    referencing old table as gone
    for each statement execute function wake_deleted();
