-- Reads the last run of each session that has begun or ended. The turns of a session hardly leave the order in which
-- their runs were created, so that the newest runs suffice: five that have begun or ended, among twenty, because waiting
-- runs are passed over. Each of them is a page of the file. The row ID saves the search for a row that was just read.
-- Each row: $1 session
with item (session_id) as (values /* row */ ($1))
select r.session_id, r.id, r.status, r.reason, r.message, r.occurrences, r.scheduled_for, r.input_at, r.started_at, r.ended_at
from item
cross join agent_runs r
where r.rowid = (
    select x.row_id
    from (
        select taken.row_id, taken.id, taken.at
        from (
            select newest.rowid as row_id, newest.id, coalesce(newest.ended_at, newest.started_at) as at
            from agent_runs newest
            where newest.session_id = item.session_id
            order by newest.id desc
            limit 20
        ) taken
        where taken.at is not null
        limit 5
    ) x
    order by x.at desc, x.id desc
    limit 1
)
