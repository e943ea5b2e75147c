-- Less to write for each run: indexes that no statement needs are gone, and one is there that was
-- missing. The same as ../postgres/0003_less_to_write.sql.

-- No statement asks for them.
drop index agent_runs_taken;
drop index agent_messages_of_tenant;
drop index agent_definitions_of_tenant;

-- The seats of a session are asked for by the session alone.
create index agent_definitions_by_session on agent_definitions (session_id, id);

-- What a seat has written is found by its session, if the seat goes before that.
drop index agent_messages_by_from_seat;

-- Most sessions have no key.
drop index agent_sessions_one_per_key;
create unique index agent_sessions_one_per_key on agent_sessions (tenant_id, session_key)
    where session_key is not null;

-- Ids begin with the time, so the oldest records are those of the first ids.
drop index run_records_by_age;

-- Small rows that are found by their keys alone: the key's own tree holds them, and there is no other.
-- Neither of these tables is referred to.

create table session_events_by_key (
    session_id blob not null,
    seq integer not null,
    tenant_id blob not null,
    kind text not null,
    ref_id blob not null,
    body text not null check (json_valid(body)),
    created_at integer not null,
    primary key (session_id, seq),
    foreign key (tenant_id, session_id) references agent_sessions (tenant_id, id)
        on delete cascade,
    constraint session_events_kind_known
        check (kind in ('session', 'run', 'message', 'task', 'approval')),
    constraint session_events_seq_counted check (seq >= 1)
) strict, without rowid;
insert into session_events_by_key (session_id, seq, tenant_id, kind, ref_id, body, created_at)
select session_id, seq, tenant_id, kind, ref_id, body, created_at
from session_events order by session_id, seq;
drop table session_events;
alter table session_events_by_key rename to session_events;

create table run_heartbeats_by_key (
    run_id blob primary key,
    tenant_id blob not null,
    worker_id text not null,
    beat_at integer not null,
    foreign key (tenant_id, run_id) references agent_runs (tenant_id, id) on delete cascade
) strict, without rowid;
insert into run_heartbeats_by_key (run_id, tenant_id, worker_id, beat_at)
select run_id, tenant_id, worker_id, beat_at
from run_heartbeats order by run_id;
drop table run_heartbeats;
alter table run_heartbeats_by_key rename to run_heartbeats;
