-- Locks endpoints. A transaction must do so before it locks any of their deliveries.
-- Each row: $1 id
with item (id) as (values /* row */ ($1))
select id from notification_endpoints
where id in (select id from item)
order by id
for update
