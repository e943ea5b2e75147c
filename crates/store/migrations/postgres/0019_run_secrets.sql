-- The hash of the secret that only the process which takes a run's turn knows. The same as ../sqlite/0019_run_secrets.sql.

alter table agent_runs add column secret_hash bytea
    constraint agent_runs_secret_hash_is_whole check (length(secret_hash) = 32);
