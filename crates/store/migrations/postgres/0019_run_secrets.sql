-- The hash of the secret with which a run's agent uses its tools. The same as ../sqlite/0019_run_secrets.sql.

alter table agent_runs add column secret_hash bytea
    constraint agent_runs_secret_hash_is_whole check (length(secret_hash) = 32);
