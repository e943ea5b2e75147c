-- Lists the keys of sessions that may have the form of an ID, in the order of IDs. No colon is in such a form, except in
-- that of a URN.
-- $1 tenant or null, $2 the last ID of the previous page, $3 limit
select id, session_key from agent_sessions
where id > $2 and ($1 is null or tenant_id = $1)
  and (
    session_key not like '%:%' and (length(session_key) >= 32 or session_key like '%\_%' escape '\')
    or session_key like '%urn_uuid_%'
  )
order by id
limit $3
