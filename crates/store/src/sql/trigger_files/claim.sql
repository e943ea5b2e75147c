-- Claims files for a dispatcher, and counts an attempt at each. Returns no row for a file that another dispatcher has
-- claimed meanwhile. The file of a run that was queued again after its delivery gets a new name, because a runtime may be
-- about to remove the earlier one.
-- Each row: $1 run. $2 now, $3 end of the lease
with item (id) as (values /* row */ ($1))
insert into trigger_files (run_id, tenant_id, instance_id, named_at, attempt, failures, next_attempt_at, writes)
select r.id, r.tenant_id, r.instance_id, $2, 1, 0, $3, 0
from item
join agent_runs r on r.id = item.id
where r.instance_id is not null
on conflict (run_id) do update
set instance_id = excluded.instance_id,
    named_at = case
        when trigger_files.written_at is not null
            and (select r.status from agent_runs r where r.id = trigger_files.run_id) = 'queued'
        then $2 else trigger_files.named_at end,
    attempt = trigger_files.attempt + 1,
    next_attempt_at = $3
where trigger_files.next_attempt_at <= $2
returning run_id, named_at, attempt, failures
