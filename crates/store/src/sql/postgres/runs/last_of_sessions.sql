-- Reads the last run of each session that has begun or ended. The turns of a session hardly leave the order in which
-- their runs were created, so that the newest runs suffice: five that have begun or ended, among twenty, because waiting
-- runs are passed over. A join on the ID of the run would read all runs.
-- Each row: $1 session
with item (session_id) as (values /* row */ ($1))
select r.session_id, r.id, r.status, r.reason, r.message, r.occurrences, r.scheduled_for, r.input_at, r.started_at, r.ended_at
from item
cross join lateral (
    select x.*
    from (
        select taken.*
        from (
            select newest.*
            from agent_runs newest
            where newest.session_id = item.session_id
            order by newest.id desc
            limit 20
        ) taken
        where coalesce(taken.ended_at, taken.started_at) is not null
        order by taken.id desc
        limit 5
    ) x
    order by coalesce(x.ended_at, x.started_at) desc, x.id desc
    limit 1
) r
