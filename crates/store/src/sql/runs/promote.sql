-- Queues waiting runs, and returns those that were promoted. The unique indexes refuse a second active run of a seat
-- or of an automation.
-- Each row: $1 id
with item (id) as (values /* row */ ($1))
update agent_runs
set status = 'queued', not_before = null, reason = null, message = null,
    instance_id = (select coalesce(instance_id, placed_on) from agent_definitions d where d.id = agent_runs.seat_id)
where status = 'deferred' and id in (select id from item)
returning id
