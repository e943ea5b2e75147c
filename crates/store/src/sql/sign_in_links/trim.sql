-- Removes links that expired before an instant, used or not.
-- $1 oldest end that stays, $2 limit
delete from sign_in_links where hash in (
    select hash from sign_in_links where expires_at < $1 order by expires_at limit $2
)
