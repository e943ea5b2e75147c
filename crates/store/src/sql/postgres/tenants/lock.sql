-- Locks tenants, so that the counts of their objects stay true.
-- Each row: $1 id
with item (id) as (values /* row */ ($1))
select id
from tenants
where id in (select id from item)
order by id
for no key update
