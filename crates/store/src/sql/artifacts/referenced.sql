-- Returns the hashes to which artifacts refer whose content is in the data folder of an instance.
-- Each row: $1 hash. $2 tenant, $3 instance
with item (sha256) as (values /* row */ ($1))
select distinct a.sha256
from agent_artifacts a
where a.tenant_id = $2 and a.instance_id = $3 and a.sha256 in (select sha256 from item)
