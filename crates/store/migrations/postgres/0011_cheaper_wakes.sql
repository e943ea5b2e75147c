-- Wakes that cost a run less. The same as ../sqlite/0011_cheaper_wakes.sql, where nobody needs them.

-- Called for each run that is queued: a search path of its own, set and restored, was most of its time.
create or replace function wake_workers() returns trigger
language plpgsql
as $$
begin
    perform pg_catalog.pg_notify('matins_wake', tg_argv[0]);
    return null;
end
$$;
