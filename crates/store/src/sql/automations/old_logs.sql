-- Lists automations whose logs begin with an event older than the retention. The primary key of the log serves the
-- search.
-- $1 oldest instant that stays, $2 limit
select a.id, a.tenant_id
from automations a
where (select e.created_at from automation_events e where e.automation_id = a.id order by e.seq limit 1) < $1
order by a.id
limit $2
