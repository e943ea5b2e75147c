-- Counts the automations, and returns the one that is due next.
-- $1 tenant or null
select
    (
        select count(*) from automations
        where deleted_at is null and ($1 is null or tenant_id = $1)
    ) as automations,
    (
        select automation_id from automation_triggers
        where next_fire_at is not null and ($1 is null or tenant_id = $1)
        order by next_fire_at, id
        limit 1
    ) as next_due
