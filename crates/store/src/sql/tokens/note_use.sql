-- Records the use of tokens, unless a recent use is recorded.
-- Each row: $1 id. $2 now, $3 the latest use after which it is noted again
with item (id) as (values /* row */ ($1))
update api_tokens set last_used_at = $2
where id in (select id from item) and (last_used_at is null or last_used_at <= $3)
