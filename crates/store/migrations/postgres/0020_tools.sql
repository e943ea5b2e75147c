-- Automations that agents make by their tools. The same as ../sqlite/0020_tools.sql.

alter table automations add column made_by_session_id uuid;
alter table automations add column made_by_run_id uuid;
alter table automations add column made_by_turn bigint;
alter table automations add column made_by_name text;
alter table automations add constraint automations_made_by_is_whole check (
    (made_by_session_id is null) = (made_by_name is null)
    and (made_by_run_id is null) = (made_by_name is null)
    and (made_by_turn is null) = (made_by_name is null)
);
alter table automations add column expires_at timestamptz;

create unique index automations_one_per_name_of_agents on automations (made_by_session_id, made_by_name)
    where made_by_session_id is not null and deleted_at is null;
create index automations_made_by_agents on automations (tenant_id)
    where made_by_session_id is not null and deleted_at is null;
create index automations_by_maker on automations (made_by_session_id)
    where made_by_session_id is not null;
create index automations_expiring on automations (expires_at)
    where expires_at is not null and deleted_at is null;
