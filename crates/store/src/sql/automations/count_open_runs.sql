-- Counts the open runs of automations: the runs that a worker has, the runs that wait, and the exclusive runs that hold
-- a seat.
-- Each row: $1 automation
with item (id) as (values /* row */ ($1))
select
    item.id,
    count(*) filter (where r.status in ('delivered', 'running')) as executing,
    count(*) filter (where r.status in ('queued', 'deferred')) as pending,
    count(*) filter (where r.exclusive and r.status <> 'deferred') as exclusive_active
from item
left join agent_runs r
    on r.automation_id = item.id and r.status in ('queued', 'deferred', 'delivered', 'running')
group by item.id
