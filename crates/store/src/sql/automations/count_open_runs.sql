-- Counts the open runs of automations: those that a worker has, those that wait, and the exclusive ones that hold a
-- seat.
-- Each row: $1 automation
with item (id) as (values /* row */ ($1))
select
    item.id,
    count(*) filter (where r.status in ('delivered', 'running')) as executing,
    count(*) filter (where r.status in ('queued', 'deferred')) as waiting,
    count(*) filter (where r.exclusive and r.status <> 'deferred') as holding
from item
left join agent_runs r
    on r.automation_id = item.id and r.status in ('queued', 'deferred', 'delivered', 'running')
group by item.id
