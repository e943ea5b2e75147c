-- Reads the automations and the seats that a transition must lock for runs. The end of a run in the session of a goal may
-- move the goal, so that all seats of its session are locked.
-- Each row: $1 id
with item (id) as (values /* row */ ($1)),
run as (
    select automation_id, seat_id, session_id
    from agent_runs
    where seat_id is not null and id in (select id from item)
)
select automation_id, seat_id from run
union all
select null, d.id
from agent_definitions d
where d.session_id in (select g.session_id from run join goals g on g.session_id = run.session_id)
