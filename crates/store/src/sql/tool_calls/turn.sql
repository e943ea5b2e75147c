-- Returns the running turn whose agent calls a tool, with its session, its seat, the agent and, unless null, the automation,
-- deleted or not. Returns no row if the secret is another one, or if the worker has lost the run.
-- $1 run, $2 worker, $3 hash of the run's secret, $4 oldest instant that is not stale
select r.id, r.tenant_id, r.input_id, r.origin, r.task_id, r.cancel_requested_at,
    exists (select 1 from goals g where g.session_id = r.session_id) as is_of_goal,
    c.id as session_id, c.tenant_id as session_tenant_id, c.kind as session_kind, c.type as session_type,
    c.state as session_state, c.state_reason as session_state_reason, c.session_key as session_session_key,
    c.title as session_title, c.cwd as session_cwd, c.channel as session_channel, c.chat_id as session_chat_id,
    c.thread as session_thread, c.schedule_id as session_schedule_id, c.last_seq as session_last_seq,
    c.created_at as session_created_at, c.updated_at as session_updated_at,
    s.id as seat_id, s.session_id as seat_session_id, s.role as seat_role, s.name as seat_name,
    s.harness_id as seat_harness_id, s.instructions as seat_instructions, s.is_entry as seat_is_entry,
    s.directory as seat_directory, s.instance_id as seat_instance_id, s.placed_on as seat_placed_on,
    s.acp_session_id as seat_acp_session_id, s.turns as seat_turns, s.usage as seat_usage, s.settings as seat_settings,
    s.needs_format as seat_needs_format, s.updated_at as seat_updated_at,
    h.id as agent_id, h.name as agent_name, h.config as agent_config, h.needs_format as agent_needs_format,
    a.id as automation_id, a.tenant_id as automation_tenant_id, a.name as automation_name,
    a.pause_reason as automation_pause_reason, a.paused_at as automation_paused_at, a.attention as automation_attention,
    a.prompt as automation_prompt, a.harness_id as automation_harness_id, a.cwd as automation_cwd,
    a.placed_on as automation_placed_on, a.session_mode as automation_session_mode,
    a.bound_session_key as automation_bound_session_key, a.current_session_id as automation_current_session_id,
    a.policies as automation_policies, a.settings as automation_settings, a.permissions as automation_permissions,
    a.needs_format as automation_needs_format, a.consecutive_failures as automation_consecutive_failures,
    a.made_by_session_id as automation_made_by_session_id, a.made_by_run_id as automation_made_by_run_id,
    a.made_by_turn as automation_made_by_turn, a.made_by_name as automation_made_by_name,
    a.expires_at as automation_expires_at, a.created_at as automation_created_at, a.updated_at as automation_updated_at,
    a.deleted_at as automation_deleted_at
from agent_runs r
join run_heartbeats b on b.run_id = r.id and b.worker_id = r.worker_id
join agent_sessions c on c.id = r.session_id
join agent_definitions s on s.id = r.seat_id
join harnesses h on h.id = s.harness_id
left join automations a on a.id = r.automation_id
where r.id = $1 and r.status = 'running' and r.worker_id = $2 and r.secret_hash = $3 and b.beat_at >= $4
