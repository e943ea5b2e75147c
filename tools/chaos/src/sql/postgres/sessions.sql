-- All sessions with the last sequence number of their log.
select 'ses_' || replace(id::text, '-', '') as id, last_seq
from automation.agent_sessions
order by id
