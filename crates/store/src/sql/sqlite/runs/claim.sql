-- Claims queued runs for a worker, each one once. The next run is always one of the tenant with the fewest runs in
-- progress; among equals, one of the tenant after the tenant that was served last. Within a tenant, people come
-- first, then occurrences, then messages of agents, and of each the oldest input. Runs that are pinned to another
-- instance are omitted, and runs whose directory is not on this server.
-- $1 worker, $2 now, $3 instance, $4 limit, $5 the tenant that was served last, or null,
-- $6 highest format that this server supports
with recursive waiting (tenant_id) as (
    select (select tenant_id from agent_runs where status = 'queued' order by tenant_id limit 1)
    union all
    select (
        select r.tenant_id from agent_runs r
        where r.status = 'queued' and r.tenant_id > w.tenant_id
        order by r.tenant_id
        limit 1
    )
    from waiting w
    where w.tenant_id is not null
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
    -- `cross join`: SQLite reads the agents first, of which there are seldom any, and not the seats of all sessions.
    select s.id from harnesses h cross join agent_definitions s
    where s.harness_id = h.id and h.needs_format > 1 and h.needs_format > $6
),
-- Runs whose directory is not on this server. There are seldom any.
refused (id) as materialized (
    select run_id from directory_refusals where instance_id = $3
),
-- Runs in progress, except those that wait for a person's decision and therefore lend their slots. Counted only if
-- several tenants share: more than two rows, because the recursion ends with an extra row.
in_progress as (
    select h.tenant_id, count(*) as runs
    from run_heartbeats h
    where (select count(*) from waiting) > 2
      and not exists (select 1 from approvals a where a.run_id = h.run_id and a.state = 'pending')
      and not exists (select 1 from questions q where q.run_id = h.run_id and q.state = 'pending' and q.kind = 'elicitation')
    group by h.tenant_id
),
candidates as (
    select r.id, r.tenant_id, r.priority, r.input_at
    from waiting w
    join agent_runs r on r.id in (
        select f.id from agent_runs f
        where f.status = 'queued' and f.tenant_id = w.tenant_id and f.instance_id is null
          and (f.automation_id is null or f.automation_id not in (select id from too_new_automations))
          and (f.trigger_id is null or f.trigger_id not in (select id from too_new_triggers))
          and f.seat_id not in (select id from too_new_seats)
          and f.id not in (select id from refused)
        order by f.instance_id, f.priority, f.input_at, f.id
        limit $4
    )
    union all
    select r.id, r.tenant_id, r.priority, r.input_at
    from waiting w
    join agent_runs r on r.id in (
        select o.id from agent_runs o
        where o.status = 'queued' and o.tenant_id = w.tenant_id and o.instance_id = $3
          and (o.automation_id is null or o.automation_id not in (select id from too_new_automations))
          and (o.trigger_id is null or o.trigger_id not in (select id from too_new_triggers))
          and o.seat_id not in (select id from too_new_seats)
          and o.id not in (select id from refused)
        order by o.priority, o.input_at, o.id
        limit $4
    )
),
ranked as (
    select c.id, c.tenant_id,
        row_number() over (partition by c.tenant_id order by c.priority, c.input_at, c.id) as rank
    from candidates c
    where c.tenant_id not in (select id from tenants where needs_format > 1 and needs_format > $6)
)
update agent_runs
set status = 'delivered', worker_id = $1, claimed_at = $2
where status = 'queued' and id in (
    select c.id
    from ranked c
    left join in_progress b on b.tenant_id = c.tenant_id
    order by c.rank + coalesce(b.runs, 0), c.tenant_id <= $5, c.tenant_id
    limit $4
)
returning id, tenant_id, attempt, input_at, session_id,
    (select case when d.directory = 'own' then '' else s.cwd end
     from agent_sessions s join agent_definitions d on d.id = agent_runs.seat_id
     where s.id = agent_runs.session_id) as cwd
