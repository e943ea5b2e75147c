-- Returns the name of an instance, removed or not.
-- $1 tenant or null, $2 instance
select name, case when state = 'gone' then true else false end as is_removed
from instances
where ($1 is null or tenant_id = $1) and id = $2
