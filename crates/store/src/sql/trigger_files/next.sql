-- Returns, for each instance, the instant at which its next file is due. A queued run without a file for this instance, or
-- whose file a runtime has taken, is due since it was created. The newest of them is looked for, because the oldest ones get
-- their files first. The index of untaken files has the others in their order; it may also have some whose runs have ended.
select instance_id, min(at) as at
from (
    select i.id as instance_id, (
        select r.created_at
        from agent_runs r
        where r.tenant_id = i.tenant_id and r.instance_id = i.id and r.status = 'queued'
          and not exists (
              select 1 from trigger_files f
              where f.run_id = r.id and f.instance_id = i.id and f.taken_attempt <> f.attempt
          )
        order by r.priority desc, r.input_at desc, r.id desc
        limit 1
    ) as at
    from instances i
    where i.kind = 'directory' and i.state <> 'gone'
    union all
    select i.id, (
        select f.next_attempt_at
        from trigger_files f
        cross join agent_runs r
        where f.instance_id = i.id and f.taken_attempt <> f.attempt and r.id = f.run_id and r.tenant_id = i.tenant_id
          and r.instance_id = i.id and (r.status = 'queued' or r.status = 'delivered' and r.worker_id = 'trigger-file')
        order by f.next_attempt_at
        limit 1
    )
    from instances i
    where i.kind = 'directory' and i.state <> 'gone'
) file
where at is not null
group by instance_id
