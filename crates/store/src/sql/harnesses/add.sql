-- Inserts an agent unless one with its name exists, so that a person's changes to it stay. A removed
-- agent stays removed.
-- :id, :tenant, :name, :config configuration, :now, :format, :needs_format format that it needs
insert into harnesses (id, tenant_id, name, config, created_at, updated_at, format, needs_format)
values (:id, :tenant, :name, :config, :now, :now, :format, :needs_format)
on conflict (tenant_id, name) do nothing
