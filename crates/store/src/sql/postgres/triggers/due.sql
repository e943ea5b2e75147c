-- Locks due triggers, up to the limit of one transaction, with an equal share for each tenant that has due triggers.
-- An advisory lock lets only one server poll at a time, because the others would wait for the same rows. The lock
-- saves work and guarantees nothing. The unique index of first attempts guarantees that each instant fires once.
-- $1 tenant or null, $2 now, $3 limit, $4 highest format that this server supports
with recursive too_new (id) as materialized (
    -- Triggers of a later format stay due, for a server that supports them.
    select id from automations where needs_format > 1 and needs_format > $4
    union all
    select automation_id from automation_triggers
    where needs_format > 1 and needs_format > $4 and deleted_at is null
),
owners (tenant_id) as (
    select (
        select tenant_id from automation_triggers
        where next_fire_at is not null and ($1 is null or tenant_id = $1)
        order by tenant_id
        limit 1
    )
    -- The key is "mattick" in ASCII.
    where (select pg_try_advisory_xact_lock(30787925258625899))
    union all
    select (
        select t.tenant_id from automation_triggers t
        where t.next_fire_at is not null and t.tenant_id > o.tenant_id and ($1 is null or t.tenant_id = $1)
        order by t.tenant_id
        limit 1
    )
    from owners o
    where o.tenant_id is not null
),
owing as materialized (
    select o.tenant_id
    from owners o
    -- A lateral join for each tenant. A semi-join might read all due triggers of all tenants first.
    cross join lateral (
        select t.id from automation_triggers t
        where t.tenant_id = o.tenant_id and t.next_fire_at <= $2
          and t.automation_id not in (select id from too_new)
        limit 1
    ) first
),
chosen as materialized (
    select d.id
    from owing o
    cross join lateral (
        select t.id from automation_triggers t
        where t.tenant_id = o.tenant_id and t.next_fire_at <= $2
          and t.automation_id not in (select id from too_new)
        order by t.next_fire_at, t.id
        limit coalesce(($3 + (select count(*) from owing) - 1) / nullif((select count(*) from owing), 0), 0)
    ) d
)
-- An array, because the planner cannot estimate the size of `chosen` and would read all due triggers each time. The
-- `coalesce` keeps the check of `next_fire_at` from using an index, so that each row is found by its ID.
select id, tenant_id, automation_id, kind, spec, needs_format, next_scheduled_for, next_fire_at,
    zone_rules, zone_rules_for, decided_until, decided_offset, last_scheduled_for, done_at
from automation_triggers
where id = any (array(select id from chosen)) and coalesce(next_fire_at <= $2, false)
order by next_fire_at, id
limit $3
for no key update skip locked
