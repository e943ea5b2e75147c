-- Finds the inputs that free seats take up next: people before automations, then first come, first
-- served, and instants that were caught up together in their order; none for a seat that is held or
-- whose session is not active.
-- Each row: $1 seat. $2 now
with item (id) as (values /* row */ ($1)),
-- In a part of its own: else PostgreSQL reads all runs, to compare each with what is found.
chosen (id) as materialized (
    select (
        select r.id
        from agent_runs r
        join agent_sessions s on s.id = r.session_id and s.state = 'active'
        where r.seat_id = item.id and r.status = 'deferred'
          and (r.not_before is null or r.not_before <= $2)
          and not (r.exclusive and exists (
              select 1 from agent_runs a
              where a.automation_id = r.automation_id and a.exclusive
                and a.status in ('queued', 'delivered', 'running')
          ))
        order by r.priority, r.input_at, r.scheduled_for, r.id
        limit 1
    )
    from item
    where not exists (
        select 1 from agent_runs a
        where a.seat_id = item.id and a.status in ('queued', 'delivered', 'running')
    )
)
select id, seat_id, session_id, automation_id, exclusive, not_before
from agent_runs
where id in (select id from chosen)
order by priority, input_at, scheduled_for, id
