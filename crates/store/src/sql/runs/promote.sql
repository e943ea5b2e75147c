-- Gives a waiting run its seat. The unique indexes refuse it where the seat or the automation is
-- taken after all.
-- $1 id
update agent_runs
set status = 'queued', not_before = null,
    instance_id = (select instance_id from agent_definitions d where d.id = agent_runs.seat_id)
where id = $1 and status = 'deferred'
