-- Locks endpoints. A transaction must do so before it locks any of their deliveries. The lock includes the key, because
-- the transaction may delete the endpoint: an insert of a delivery that refers to it then waits.
-- Each row: $1 id
with item (id) as (values /* row */ ($1))
select id from notification_endpoints
where id in (select id from item)
order by id
for update
