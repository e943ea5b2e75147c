-- Restores a removed host for every tenant, because a server serves its data folder again. An instance with a folder stays
-- removed, because the token of its runtime is revoked.
-- $1 instance
update instances set state = 'online' where id = $1 and state = 'gone' and kind = 'host'
returning tenant_id
