-- Locks agents whose configuration is compared and changed.
-- Each row: $1 id
with item (id) as (values /* row */ ($1))
select id from harnesses
where id in (select id from item)
order by id
for no key update
