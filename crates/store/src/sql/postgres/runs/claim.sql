-- Claims queued runs for a worker: each is claimed once, whoever else asks. The next one is always that of
-- the tenant who has the fewest under way, and among equals of the tenant after the one that was served
-- last; of one tenant's, people's go first, each in its order. What waits for another instance is left to it.
--
-- How many each tenant gets is worked out without locks, and its rows are locked then: whoever asks at the
-- same time passes over them and takes the next.
-- $1 worker, $2 now, $3 instance, $4 limit, $5 the tenant that was served last, or null,
-- $6 highest format that this server honours
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
-- Where each part of a tenant's queue begins: what is bound to instances comes first, in their order, then what
-- is anybody's. A part that has the first of all is read from there on, since whatever was claimed after the
-- oldest transaction began still lies before it; the other one from its beginning. Where the first is bound to
-- a later instance, or is anybody's, nothing is bound to this one.
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
-- What this server cannot honour is left to a server that can.
too_new_automations (id) as materialized (
    select id from automations where needs_format > 1 and needs_format > $6
    union all
    select automation_id from automation_triggers
    where needs_format > 1 and needs_format > $6 and deleted_at is null
),
too_new_triggers (id) as materialized (
    -- Removed ones too: a run keeps the trigger that made it.
    select id from automation_triggers where needs_format > 1 and needs_format > $6
),
too_new_seats (id) as materialized (
    select id from agent_definitions where needs_format > 1 and needs_format > $6
    union all
    select s.id from harnesses h join agent_definitions s on s.harness_id = h.id
    where h.needs_format > 1 and h.needs_format > $6
),
-- Turns under way, but for those that have lent their slots because they wait for people. Read only where
-- there is somebody to share with.
busy as (
    select h.tenant_id, count(*) as runs
    from run_heartbeats h
    where (select count(*) from waiting) > 1
      and not exists (select 1 from approvals a where a.run_id = h.run_id and a.state = 'pending')
    group by h.tenant_id
),
ranked as (
    select c.tenant_id, c.pinned,
        row_number() over (partition by c.tenant_id order by c.priority, c.input_at, c.id) as place
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
            order by r.instance_id, r.priority, r.input_at, r.id
            limit $4
        ) free
        where not l.pinned
        union all
        select l.tenant_id, l.pinned, own.priority, own.input_at, own.id
        from lanes l
        cross join lateral (
            select r.priority, r.input_at, r.id from agent_runs r
            where r.status = 'queued' and r.tenant_id = l.tenant_id and r.instance_id = $3
              and (r.priority, r.input_at, r.id) >= (l.priority, l.input_at, l.id)
              and (r.automation_id is null or r.automation_id not in (select id from too_new_automations))
              and (r.trigger_id is null or r.trigger_id not in (select id from too_new_triggers))
              and r.seat_id not in (select id from too_new_seats)
            order by r.priority, r.input_at, r.id
            limit $4
        ) own
        where l.pinned
    ) c
),
shares as materialized (
    select s.tenant_id, s.pinned, count(*) as runs
    from (
        select r.tenant_id, r.pinned
        from ranked r
        left join busy b on b.tenant_id = r.tenant_id
        order by r.place + coalesce(b.runs, 0), r.tenant_id <= $5, r.tenant_id
        limit $4
    ) s
    group by s.tenant_id, s.pinned
),
-- Chosen in a part of their own, which runs once: chosen again for each row that is joined, `skip
-- locked` would give others each time, and more than the limit.
chosen as materialized (
    select free.id from shares s join lanes l using (tenant_id, pinned)
    cross join lateral (
        select r.id from agent_runs r
        where r.status = 'queued' and r.tenant_id = l.tenant_id and r.instance_id is null
          and (r.priority, r.input_at, r.id) >= (l.priority, l.input_at, l.id)
          and (r.automation_id is null or r.automation_id not in (select id from too_new_automations))
          and (r.trigger_id is null or r.trigger_id not in (select id from too_new_triggers))
          and r.seat_id not in (select id from too_new_seats)
        order by r.instance_id, r.priority, r.input_at, r.id
        limit s.runs
        for update skip locked
    ) free
    where not l.pinned
    union all
    select own.id from shares s join lanes l using (tenant_id, pinned)
    cross join lateral (
        select r.id from agent_runs r
        where r.status = 'queued' and r.tenant_id = l.tenant_id and r.instance_id = $3
          and (r.priority, r.input_at, r.id) >= (l.priority, l.input_at, l.id)
          and (r.automation_id is null or r.automation_id not in (select id from too_new_automations))
          and (r.trigger_id is null or r.trigger_id not in (select id from too_new_triggers))
          and r.seat_id not in (select id from too_new_seats)
        order by r.priority, r.input_at, r.id
        limit s.runs
        for update skip locked
    ) own
    where l.pinned
),
-- Where another one took what a share was made for, whatever else waits goes in its place: no slot stays
-- free that somebody waits for.
instead as materialized (
    select r.id from agent_runs r
    where r.status = 'queued' and (r.instance_id is null or r.instance_id = $3)
      and r.id not in (select id from chosen)
      and (r.automation_id is null or r.automation_id not in (select id from too_new_automations))
      and (r.trigger_id is null or r.trigger_id not in (select id from too_new_triggers))
      and r.seat_id not in (select id from too_new_seats)
      and r.tenant_id not in (select id from tenants where needs_format > 1 and needs_format > $6)
    limit case
        when (select count(*) from chosen) < (select sum(runs) from shares)
            then $4 - (select count(*) from chosen)
        else 0
    end
    for update skip locked
)
-- As an array: joined to what nobody can guess the size of, the whole table would be read.
update agent_runs
set status = 'delivered', worker_id = $1, claimed_at = $2
where id = any (array(select id from chosen union all select id from instead))
returning id, tenant_id, attempt, input_at
