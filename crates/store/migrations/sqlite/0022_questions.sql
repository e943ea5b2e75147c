-- Questions of agents to people. The same as ../postgres/0022_questions.sql.

-- A question of an agent that waits for a person until its deadline. Its answer is an input of the seat, or the reply to an
-- agent that waits in its turn. The name of the author of an answer is a copy, as in approvals. Earlier programs do
-- not know the table: they answer no question, and leave those of a session that they close until their deadlines.
create table questions (
    id blob primary key,
    tenant_id blob not null,
    session_id blob not null,
    seat_id blob not null,
    run_id blob not null,
    automation_id blob,
    input_id blob not null,
    kind text not null,
    text text not null,
    body text not null check (json_valid(body)),
    format integer not null,
    needs_format integer not null,
    state text not null,
    deadline_at integer not null,
    created_at integer not null,
    closed_at integer,
    answer text check (json_valid(answer)),
    answered_by text,
    answered_by_token blob,
    answer_input_id blob,
    foreign key (tenant_id, session_id, seat_id)
        references agent_definitions (tenant_id, session_id, id) on delete cascade,
    foreign key (tenant_id, run_id) references agent_runs (tenant_id, id) on delete cascade,
    foreign key (tenant_id, automation_id) references automations (tenant_id, id),
    constraint questions_kind_known check (kind in ('tool', 'elicitation')),
    constraint questions_state_known check (state in ('pending', 'answered', 'expired', 'void')),
    constraint questions_format check (needs_format between 1 and format),
    constraint questions_closed_has_a_time check ((state = 'pending') = (closed_at is null)),
    constraint questions_answered_has_an_answer check (state <> 'answered' or answer is not null),
    constraint questions_open_has_no_answer
        check (state in ('answered', 'expired') or answer is null),
    constraint questions_person_is_named check ((state = 'answered') = (answered_by is not null)),
    constraint questions_token_is_a_persons
        check (answered_by is not null or answered_by_token is null),
    constraint questions_answer_of_tool_is_an_input check (
        (kind = 'tool' and state in ('answered', 'expired')) = (answer_input_id is not null))
) strict;
create unique index questions_one_per_text on questions (input_id, text) where kind = 'tool';
create unique index questions_of_tenant on questions (tenant_id, id);
create index questions_by_session on questions (session_id, id);
create index questions_by_seat on questions (seat_id);
create index questions_by_run on questions (run_id, id);
create index questions_by_automation on questions (automation_id, id)
    where automation_id is not null;
create index questions_pending on questions (deadline_at) where state = 'pending';
create index questions_inbox on questions (tenant_id, id) where state = 'pending';
