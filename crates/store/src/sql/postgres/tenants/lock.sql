-- Locks tenants, so that counts of what they have stay true.
-- Each row: $1 id
with item (id) as (values /* row */ ($1))
select id
from tenants
where id in (select id from item)
order by id
for no key update
