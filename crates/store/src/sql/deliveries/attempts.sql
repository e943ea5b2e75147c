-- Lists the attempts at a delivery.
-- $1 tenant or null, $2 delivery
select number, status, error, answer, started_at, ended_at
from webhook_attempts
where delivery_id = $2 and ($1 is null or tenant_id = $1)
order by number
