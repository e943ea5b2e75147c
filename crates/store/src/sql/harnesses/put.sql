-- Inserts an agent, or replaces the configuration of the agent with its name. A removed agent is there again.
-- :id, :tenant, :name, :config configuration, :now, :format, :needs_format format that it needs
insert into harnesses (id, tenant_id, name, config, created_at, updated_at, format, needs_format)
values (:id, :tenant, :name, :config, :now, :now, :format, :needs_format)
on conflict (tenant_id, name) do update
set config = excluded.config, updated_at = excluded.updated_at, format = excluded.format,
    needs_format = excluded.needs_format, removed_at = null
returning id, name, config, format, needs_format
