-- Claims queued runs for a worker, each one once. The next run is always one of the tenant with the fewest runs in
-- progress; among equals, one of the tenant after the tenant that was served last. Within a tenant, people come
-- first, then occurrences, then messages of agents, and of each the oldest input. Runs that are pinned to another
-- instance are omitted, and runs whose directory is not on this server.
--
-- The statement computes the share of each tenant without locks and locks the rows afterwards. A concurrent claim
-- skips the locked rows and takes the next ones.
-- $1 worker, $2 now, $3 instance, $4 limit, $5 the tenant that was served last, or null,
-- $6 highest format that this server supports
with recursive waiting (tenant_id, instance_id, priority, input_at, id) as (
    (
        select r.tenant_id, r.instance_id, r.priority, r.input_at, r.id from agent_runs r
        where r.status = 'queued'
        order by r.tenant_id, r.instance_id, r.priority, r.input_at, r.id
        limit 1
    )
    union all
    select n.tenant_id, n.instance_id, n.priority, n.input_at, n.id
    from waiting w
    cross join lateral (
        select r.tenant_id, r.instance_id, r.priority, r.input_at, r.id from agent_runs r
        where r.status = 'queued' and r.tenant_id > w.tenant_id
        order by r.tenant_id, r.instance_id, r.priority, r.input_at, r.id
        limit 1
    ) n
),
-- The start of each part of a tenant's queue. Runs pinned to instances come first, in the order of the instances,
-- then the runs without a pin. The part that contains the first run of the queue is read from that run on, because
-- the index still has entries before it for all runs that were claimed since the oldest transaction began. The other
-- part is read from its beginning. If the first run is pinned to a later instance or has no pin, no run is pinned to
-- this instance.
lanes (tenant_id, pinned, priority, input_at, id) as materialized (
    select w.tenant_id, w.instance_id is not null, w.priority, w.input_at, w.id from waiting w
    where (w.instance_id is null or w.instance_id = $3)
      and w.tenant_id not in (select id from tenants where needs_format > 1 and needs_format > $6)
    union all
    select w.tenant_id, k.pinned, (-9223372036854775808)::bigint, '-infinity',
        '00000000-0000-0000-0000-000000000000'
    from waiting w
    join (values (false), (true)) k (pinned)
      on w.instance_id is not null and (not k.pinned or w.instance_id < $3)
    where w.tenant_id not in (select id from tenants where needs_format > 1 and needs_format > $6)
),
-- Leave documents of a later format to a server that supports them.
too_new_automations (id) as materialized (
    select id from automations where needs_format > 1 and needs_format > $6
    union all
    select automation_id from automation_triggers
    where needs_format > 1 and needs_format > $6 and deleted_at is null
),
too_new_triggers (id) as materialized (
    -- Removed triggers too, because a run keeps the trigger that created it.
    select id from automation_triggers where needs_format > 1 and needs_format > $6
),
too_new_seats (id) as materialized (
    -- The parameter comes first, because SQLite searches the index by the first of two bounds, and most seats need a
    -- format above 1.
    select id from agent_definitions where needs_format > $6 and needs_format > 1
    union all
    select s.id from harnesses h join agent_definitions s on s.harness_id = h.id
    where h.needs_format > 1 and h.needs_format > $6
),
-- Runs whose directory is not on this server. There are seldom any.
refused (id) as materialized (
    select run_id from directory_refusals where instance_id = $3
),
-- Runs in progress, except those that wait for a person's decision and therefore lend their slots. Counted only if
-- several tenants share.
in_progress as (
    select h.tenant_id, count(*) as runs
    from run_heartbeats h
    where (select count(*) from waiting) > 1
      and not exists (select 1 from approvals a where a.run_id = h.run_id and a.state = 'pending')
      and not exists (select 1 from questions q where q.run_id = h.run_id and q.state = 'pending' and q.kind = 'elicitation')
    group by h.tenant_id
),
ranked as (
    select c.tenant_id, c.pinned,
        row_number() over (partition by c.tenant_id order by c.priority, c.input_at, c.id) as rank
    from (
        select l.tenant_id, l.pinned, free.priority, free.input_at, free.id
        from lanes l
        cross join lateral (
            select r.priority, r.input_at, r.id from agent_runs r
            where r.status = 'queued' and r.tenant_id = l.tenant_id and r.instance_id is null
              and (r.priority, r.input_at, r.id) >= (l.priority, l.input_at, l.id)
              and (r.automation_id is null or r.automation_id not in (select id from too_new_automations))
              and (r.trigger_id is null or r.trigger_id not in (select id from too_new_triggers))
              and r.seat_id not in (select id from too_new_seats)
              and r.id not in (select id from refused)
            order by r.instance_id, r.priority, r.input_at, r.id
            limit $4
        ) free
        where not l.pinned
        union all
        select l.tenant_id, l.pinned, pinned_run.priority, pinned_run.input_at, pinned_run.id
        from lanes l
        cross join lateral (
            select r.priority, r.input_at, r.id from agent_runs r
            where r.status = 'queued' and r.tenant_id = l.tenant_id and r.instance_id = $3
              and (r.priority, r.input_at, r.id) >= (l.priority, l.input_at, l.id)
              and (r.automation_id is null or r.automation_id not in (select id from too_new_automations))
              and (r.trigger_id is null or r.trigger_id not in (select id from too_new_triggers))
              and r.seat_id not in (select id from too_new_seats)
              and r.id not in (select id from refused)
            order by r.priority, r.input_at, r.id
            limit $4
        ) pinned_run
        where l.pinned
    ) c
),
shares as materialized (
    select s.tenant_id, s.pinned, count(*) as runs
    from (
        select r.tenant_id, r.pinned
        from ranked r
        left join in_progress b on b.tenant_id = r.tenant_id
        order by r.rank + coalesce(b.runs, 0), r.tenant_id <= $5, r.tenant_id
        limit $4
    ) s
    group by s.tenant_id, s.pinned
),
-- A part of its own, which runs once. If it ran again for each joined row, `skip locked` would return other rows each
-- time, and more than the limit.
chosen as materialized (
    select free.id from shares s join lanes l using (tenant_id, pinned)
    cross join lateral (
        select r.id from agent_runs r
        where r.status = 'queued' and r.tenant_id = l.tenant_id and r.instance_id is null
          and (r.priority, r.input_at, r.id) >= (l.priority, l.input_at, l.id)
          and (r.automation_id is null or r.automation_id not in (select id from too_new_automations))
          and (r.trigger_id is null or r.trigger_id not in (select id from too_new_triggers))
          and r.seat_id not in (select id from too_new_seats)
          and r.id not in (select id from refused)
        order by r.instance_id, r.priority, r.input_at, r.id
        limit s.runs
        for no key update skip locked
    ) free
    where not l.pinned
    union all
    select pinned_run.id from shares s join lanes l using (tenant_id, pinned)
    cross join lateral (
        select r.id from agent_runs r
        where r.status = 'queued' and r.tenant_id = l.tenant_id and r.instance_id = $3
          and (r.priority, r.input_at, r.id) >= (l.priority, l.input_at, l.id)
          and (r.automation_id is null or r.automation_id not in (select id from too_new_automations))
          and (r.trigger_id is null or r.trigger_id not in (select id from too_new_triggers))
          and r.seat_id not in (select id from too_new_seats)
          and r.id not in (select id from refused)
        order by r.priority, r.input_at, r.id
        limit s.runs
        for no key update skip locked
    ) pinned_run
    where l.pinned
),
-- If a concurrent claim took the runs of a share, claim any other waiting run instead, so that no slot stays free
-- while a run waits.
replacements as materialized (
    select r.id from agent_runs r
    where r.status = 'queued' and (r.instance_id is null or r.instance_id = $3)
      and r.id not in (select id from chosen)
      and (r.automation_id is null or r.automation_id not in (select id from too_new_automations))
      and (r.trigger_id is null or r.trigger_id not in (select id from too_new_triggers))
      and r.seat_id not in (select id from too_new_seats)
      and r.id not in (select id from refused)
      and r.tenant_id not in (select id from tenants where needs_format > 1 and needs_format > $6)
    limit case
        when (select count(*) from chosen) < (select sum(runs) from shares)
            then $4 - (select count(*) from chosen)
        else 0
    end
    for no key update skip locked
)
-- An array, because the planner cannot estimate the size of the parts and would read the whole table for a join.
update agent_runs
set status = 'delivered', worker_id = $1, claimed_at = $2
where id = any (array(select id from chosen union all select id from replacements))
returning id, tenant_id, attempt, input_at, session_id,
    (select case when d.directory = 'own' then '' else s.cwd end
     from agent_sessions s join agent_definitions d on d.id = agent_runs.seat_id
     where s.id = agent_runs.session_id) as cwd
