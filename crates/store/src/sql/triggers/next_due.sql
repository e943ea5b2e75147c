-- Lists the instants at which a tenant's triggers fire next, the earliest first.
-- $1 tenant, $2 the instant before which they fire, $3 limit
select automation_id
from automation_triggers
where tenant_id = $1 and next_fire_at is not null and next_fire_at < $2
order by next_fire_at, id
limit $3
