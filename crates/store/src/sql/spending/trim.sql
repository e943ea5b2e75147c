-- Removes the usage of days that no budget counts any more.
-- $1 the oldest day that stays, $2 limit
delete from spending where (spender_id, day, currency) in (
    select spender_id, day, currency from spending where day < $1 order by day limit $2
)
