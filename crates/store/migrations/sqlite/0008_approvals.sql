-- Permission requests that wait for a person. The same as ../postgres/0008_approvals.sql.

-- Nothing has written into it so far; it is made anew.
drop table approvals;

-- A permission request of one attempt that waits for a person until its deadline. Who decided it is named
-- as they were called then; their token is not referred to, since those of browsers go.
create table approvals (
    id blob primary key,
    tenant_id blob not null,
    session_id blob not null,
    run_id blob not null,
    automation_id blob,
    tool_kind text not null,
    title text not null,
    tool_call text not null,
    input text check (json_valid(input)),
    input_cut integer not null check (input_cut in (0, 1)),
    state text not null,
    deadline_at integer not null,
    decided_at integer,
    decided_by text,
    decided_by_token blob,
    comment text,
    created_at integer not null,
    foreign key (tenant_id, session_id) references agent_sessions (tenant_id, id)
        on delete cascade,
    foreign key (tenant_id, run_id) references agent_runs (tenant_id, id) on delete cascade,
    foreign key (tenant_id, automation_id) references automations (tenant_id, id),
    constraint approvals_state_known
        check (state in ('pending', 'allowed', 'denied', 'expired', 'void')),
    constraint approvals_decided_has_a_time
        check ((state = 'pending') = (decided_at is null)),
    constraint approvals_person_is_named
        check ((state in ('allowed', 'denied')) = (decided_by is not null)),
    constraint approvals_comment_is_a_persons
        check (decided_by is not null or (decided_by_token is null and comment is null))
) strict;
create unique index approvals_of_tenant on approvals (tenant_id, id);
create index approvals_by_session on approvals (session_id, id);
create index approvals_by_run on approvals (run_id, id);
create index approvals_by_automation on approvals (automation_id, id)
    where automation_id is not null;
create index approvals_pending on approvals (deadline_at) where state = 'pending';
create index approvals_inbox on approvals (tenant_id, id) where state = 'pending';
create index approvals_pending_by_run on approvals (run_id) where state = 'pending';
