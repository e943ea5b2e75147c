-- All sessions with the last sequence number of their log, each as JSON.
select json_object('id', 'ses_' || lower(hex(id)), 'last_seq', last_seq)
from agent_sessions
order by id
