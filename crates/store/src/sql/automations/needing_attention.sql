-- Lists a tenant's automations that need a person: those with a notice, and those that something else than a person
-- has paused. The latest change comes first.
-- $1 tenant, $2 the reason of a pause by a person, $3 limit
select id
from automations
where tenant_id = $1 and deleted_at is null and (attention is not null or pause_reason <> $2)
order by updated_at desc, id
limit $3
