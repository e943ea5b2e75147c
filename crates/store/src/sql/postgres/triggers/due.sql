-- Locks the triggers that are due, as many as one transaction takes; those that another process
-- has locked are its own to fire.
-- $1 tenant or null, $2 now, $3 limit
select id, tenant_id, automation_id, kind, spec, next_scheduled_for, next_fire_at, last_scheduled_for, done_at
from automation_triggers
where next_fire_at <= $2 and ($1 is null or tenant_id = $1)
order by next_fire_at, id
limit $3
for update skip locked
