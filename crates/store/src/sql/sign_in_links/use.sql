-- Uses a link up. No row: there is none, or it is over, or somebody has used it.
-- $1 hash, $2 now
update sign_in_links set used_at = $2
where hash = $1 and used_at is null and expires_at > $2
returning token_id
