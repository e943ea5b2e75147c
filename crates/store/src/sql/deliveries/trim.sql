-- Removes some of the oldest finished deliveries. IDs begin with the time of their creation.
-- $1 the first id that stays, $2 limit
delete from webhook_deliveries where id in (
    select id from webhook_deliveries where id < $1 and state <> 'pending' order by id limit $2
)
