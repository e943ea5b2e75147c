-- A row in each table that the queries read, for their test on SQLite.
insert into automations (id, tenant_id, name, kind, prompt, harness_id, session_mode, policies, settings,
    permissions, created_at, updated_at)
values (x'c1', x'01', 'beats', 'user', 'It''s time.', x'02', 'fresh', '{"queue_limit": 3}', '{}', '{}', 1, 1);
insert into automation_triggers (id, tenant_id, automation_id, kind, spec, next_scheduled_for, next_fire_at,
    created_at, updated_at)
values (x'd1', x'01', x'c1', 'every', '{"kind": "every"}', 20, 21, 1, 1);
insert into agent_sessions (id, tenant_id, kind, type, state, cwd, last_seq, created_at, updated_at)
values (x'e1', x'01', 'automation', 'regular', 'active', '.', 2, 1, 1);
insert into agent_runs (id, tenant_id, input_id, attempt, status, origin, priority, session_id, seat_id,
    automation_id, trigger_id, scheduled_for, exclusive, content, input_at, created_at)
values (x'a1', x'01', x'b1', 1, 'deferred', 'occurrence', 1, x'e1', x'f1', x'c1', x'd1', 10, 0, 'It''s time.', 5, 5);
insert into agent_runs (id, tenant_id, input_id, attempt, status, origin, priority, session_id, seat_id,
    task_id, task_prompt, task_review, instance_id, worker_id, started_at, ended_at, exclusive, content,
    input_at, created_at)
values (x'a2', x'01', x'b2', 1, 'succeeded', 'task', 1, x'e1', x'f1', x'f2', 'review', 1, x'f3', 'host-7-x', 8, 9, 0,
    'Judge it.', 6, 6);
insert into session_events (session_id, seq, tenant_id, kind, ref_id, body, created_at)
values (x'e1', 1, x'01', 'run', x'a2', '{"status": "queued"}', 6),
    (x'e1', 2, x'01', 'task', x'f2', '{"status": "DONE"}', 9);
insert into automation_events (automation_id, seq, tenant_id, kind, ref_id, body, created_at)
values (x'c1', 1, x'01', 'automation', x'c1', '{}', 1);
insert into agent_messages (id, tenant_id, session_id, seq, role, kind, content, metadata, created_at)
values (x'f4', x'01', x'e1', 1, 'system', 'notice', 'Hello.', '{}', 1);
insert into instances (tenant_id, id, name, kind, state, config, created_at)
values (x'01', x'f3', 'there', 'directory', 'online', '{}', 1), (x'01', x'f5', 'here', 'host', 'online', '{}', 1);
insert into webhook_payloads (run_id, tenant_id, payload) values (x'a1', x'01', 'ticket-1');
insert into goals (session_id, tenant_id, text, state, team, limits, progress, format, needs_format, created_at,
    updated_at)
values (x'e1', x'01', 'A text.', 'active', '{}', '{}', '{}', 1, 1, 1, 1);
insert into agent_tasks (id, tenant_id, session_id, role, title, description, status, created_at, updated_at,
    ended_at, number, key, kind, plan_version, unmet, priority, optional, review, reason, acceptance, checks, writes,
    digest, attempts, rounds, progress)
values (x'f2', x'01', x'e1', 'worker', 'A task', '', 'DONE', 1, 1, 9, 1, 'checked', 'work', 1, 0, 1, 0, 0, 'done', '[]',
    '[]', '[]', x'00', 1, 1, '{}');
