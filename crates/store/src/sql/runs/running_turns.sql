-- Lists the running turns of sessions. The list of statuses equals that of the index of runs that hold a seat, so
-- that the query does not read runs that are over.
-- Each row: $1 session. $2 tenant or null
with item (session_id) as (values /* row */ ($1))
select d.session_id, r.id
from item
join agent_definitions d on d.session_id = item.session_id and ($2 is null or d.tenant_id = $2)
join agent_runs r on r.seat_id = d.id and r.status in ('queued', 'delivered', 'running')
where r.status = 'running'
order by d.session_id, r.id
