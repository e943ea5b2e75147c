-- Marks an agent as removed. Its row stays, because closed sessions and deleted automations refer to it.
-- $1 id, $2 now
update harnesses set removed_at = $2, updated_at = $2 where id = $1
