-- Returns the automation of a trigger that is not removed.
-- $1 tenant or null, $2 id
select automation_id, kind from automation_triggers
where id = $2 and ($1 is null or tenant_id = $1) and deleted_at is null
