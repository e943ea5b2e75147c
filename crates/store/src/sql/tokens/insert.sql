-- Inserts a token for a program.
-- :id, :tenant, :role, :instance of a runtime or null, :name, :hash, :shown beginning, :scopes or null, :made_by or null,
-- :now, :expires_at or null
insert into api_tokens
    (id, tenant_id, kind, role, instance_id, name, hash, shown, scopes, made_by, created_at, expires_at)
values (:id, :tenant, 'token', :role, :instance, :name, :hash, :shown, :scopes, :made_by, :now, :expires_at)
