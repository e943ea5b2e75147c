-- Records the length of the chain of message turns that ends with a message.
-- Each row: $1 id. $2 length
with item (id) as (values /* row */ ($1))
update agent_messages set chain_length = $2
where id in (select id from item)
