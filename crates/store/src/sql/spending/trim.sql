-- Removes what was used on days that no budget looks at any more.
-- $1 the oldest day that stays, $2 limit
delete from spending where (spender_id, day, currency) in (
    select spender_id, day, currency from spending where day < $1 order by day limit $2
)
