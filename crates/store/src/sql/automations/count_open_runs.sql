-- Counts the open runs of automations: the runs that a worker has, the runs that wait, also as trigger files, and the
-- exclusive runs that hold a seat. Only the last number has the runs of answers to questions: they are no occurrences, so no
-- occurrence is skipped or refused because of them.
-- Each row: $1 automation
with item (id) as (values /* row */ ($1))
select
    item.id,
    count(*) filter (
        where r.origin <> 'person'
            and (r.status = 'running' or r.status = 'delivered' and r.worker_id <> 'trigger-file')
    ) as executing,
    count(*) filter (
        where r.origin <> 'person'
            and (r.status in ('queued', 'deferred') or r.status = 'delivered' and r.worker_id = 'trigger-file')
    ) as pending,
    count(*) filter (where r.exclusive and r.status <> 'deferred') as exclusive_active
from item
left join agent_runs r
    on r.automation_id = item.id and r.status in ('queued', 'deferred', 'delivered', 'running')
group by item.id
