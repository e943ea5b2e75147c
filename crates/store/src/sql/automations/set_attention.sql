-- Says what a person should look at, or with null that it was seen.
-- $1 id, $2 text or null, $3 now
update automations set attention = $2, updated_at = $3 where id = $1
