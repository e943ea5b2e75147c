-- Locks the automation of a run, then its seat, and then, unless the automation keeps the memory, its session. Each step counts the
-- rows of the step before, so that the server takes the locks in this order.
-- $1 run
with run as materialized (
    select automation_id, seat_id, session_id from agent_runs where id = $1
),
automation as materialized (
    select id, deleted_at from automations
    where id = (select automation_id from run)
    for no key update
),
seat as materialized (
    select id from agent_definitions
    where id = (select seat_id from run) and (select count(*) from automation) <= 1
    for no key update
),
session as materialized (
    select id from agent_sessions
    where id = (select session_id from run) and (select count(*) from seat) <= 1
        and not exists (select 1 from automation where deleted_at is null)
    for no key update
)
select (select count(*) from seat) as seats, (select count(*) from session) as sessions
