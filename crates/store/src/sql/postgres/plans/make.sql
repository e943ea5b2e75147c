-- Has the server choose again whether it plans a statement for its parameters.
set local plan_cache_mode = auto
