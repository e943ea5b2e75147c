-- Has the server plan the next statements as it does by itself: null is what the connection has.
select
    set_config('plan_cache_mode', null, true) as mode,
    set_config('enable_seqscan', null, true) as scan,
    set_config('enable_bitmapscan', null, true) as bitmap
