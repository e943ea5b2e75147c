-- Finds the instance of a tenant that has a name or a folder. An instance with the name comes first.
-- $1 tenant, $2 name, $3 the normalized path of the folder
select name, case when name = $2 then true else false end as has_name
from instances
where tenant_id = $1 and state <> 'gone' and (name = $2 or folder_key = $3)
order by has_name desc, name
limit 1
