-- A feed of everything that a tenant may see, in an order that follows commits. The same as
-- ../postgres/0005_order_of_commits.sql. Readers are woken by the process itself.

-- There is one writer at a time, so a number that each transaction takes when it writes follows commits.
create table transaction_ids (
    one integer primary key check (one = 1),
    last integer not null
) strict;
insert into transaction_ids (one, last) values (1, 0);

-- Rows that are there stand before all others.
alter table session_events add column transaction_id integer not null default 0;
create index session_events_by_commit
    on session_events (tenant_id, transaction_id, session_id, seq);

alter table automations add column last_seq integer not null default 0
    constraint automations_last_seq_counted check (last_seq >= 0);

-- An automation's own log: what has no session.
create table automation_events (
    automation_id blob not null,
    seq integer not null,
    tenant_id blob not null,
    transaction_id integer not null default 0,
    kind text not null,
    ref_id blob not null,
    body text not null check (json_valid(body)),
    created_at integer not null,
    primary key (automation_id, seq),
    foreign key (tenant_id, automation_id) references automations (tenant_id, id),
    constraint automation_events_kind_known check (kind in ('automation', 'run')),
    constraint automation_events_seq_counted check (seq >= 1)
) strict, without rowid;
create index automation_events_by_commit
    on automation_events (tenant_id, transaction_id, automation_id, seq);

-- The last event of a tenant's feed that retention has removed.
create table feed_trims (
    tenant_id blob primary key references tenants (id),
    transaction_id integer not null,
    log_id blob not null,
    seq integer not null
) strict;
