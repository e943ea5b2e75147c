-- Queues waiting runs. The unique indexes refuse it if a seat or an automation is taken after all. Returns the runs
-- that were promoted.
-- Each row: $1 id
with item (id) as (values /* row */ ($1))
update agent_runs
set status = 'queued', not_before = null, reason = null, message = null,
    instance_id = (select instance_id from agent_definitions d where d.id = agent_runs.seat_id)
where status = 'deferred' and id in (select id from item)
returning id
