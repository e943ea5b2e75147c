-- Has the server keep its plans of the next statements, whatever their parameters. A plan that was made while a
-- table was empty must not read all of it once it has grown, nor sort all that an index has in its order.
select
    set_config('plan_cache_mode', 'force_generic_plan', true) as mode,
    set_config('enable_seqscan', 'off', true) as scan,
    set_config('enable_bitmapscan', 'off', true) as bitmap
