-- Reads the triggers that are due. The transaction holds the only write lock already.
-- $1 tenant or null, $2 now, $3 limit
select id, tenant_id, automation_id, kind, spec, next_scheduled_for, next_fire_at, last_scheduled_for, done_at
from automation_triggers
where next_fire_at <= $2 and ($1 is null or tenant_id = $1)
order by next_fire_at, id
limit $3
