-- Reads the last run of each session that has begun or ended. The turns of a session hardly leave the order in which
-- their runs were created, so that a few runs suffice. Waiting runs are passed over, up to a limit.
-- Each row: $1 session
with item (session_id) as (values /* row */ ($1))
select r.session_id, r.id, r.status, r.reason, r.message, r.occurrences, r.scheduled_for, r.input_at, r.started_at, r.ended_at
from item
join agent_runs r on r.id = (
    select x.id
    from (
        select taken.id, taken.at
        from (
            select newest.id, coalesce(newest.ended_at, newest.started_at) as at
            from agent_runs newest
            where newest.session_id = item.session_id
            order by newest.id desc
            limit 20
        ) taken
        where taken.at is not null
    ) x
    order by x.at desc, x.id desc
    limit 1
)
