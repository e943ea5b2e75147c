-- Marks a link as used. No row: the link does not exist, is expired, or was used.
-- $1 hash, $2 now
update sign_in_links set used_at = $2
where hash = $1 and used_at is null and expires_at > $2
returning token_id
