-- Lists a tenant's automations that need a person: those with a notice, and those that something else than a person
-- has paused. The latest change comes first. The second condition is that of an index of few automations.
-- $1 tenant, $2 the reason of a pause by a person, $3 limit
select id
from automations
where tenant_id = $1 and (attention is not null or pause_reason <> $2)
  and deleted_at is null and (attention is not null or pause_reason is not null)
order by updated_at desc, id
limit $3
