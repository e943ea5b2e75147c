"""Uses the API by the client that openapi-python-client makes of its document: `program.py URL TOKEN`."""

import json
import sys
from collections.abc import Iterator
from typing import Any, TypeVar

import httpx
from matins_api import AuthenticatedClient
from matins_api.api.automations import create_automation, edit_automation, fire_automation, show_automation
from matins_api.api.runs import list_runs
from matins_api.models.automation_patch import AutomationPatch
from matins_api.models.automation_request import AutomationRequest
from matins_api.models.message_role import MessageRole
from matins_api.models.overlap import Overlap
from matins_api.models.policies_patch import PoliciesPatch
from matins_api.models.problem import Problem
from matins_api.models.problem_kind import ProblemKind
from matins_api.models.run_change_succeeded import RunChangeSucceeded
from matins_api.models.trace_event_delta import TraceEventDelta
from matins_api.models.trace_event_message import TraceEventMessage
from matins_api.models.trace_event_run import TraceEventRun
from matins_api.models.trace_event_session import TraceEventSession
from matins_api.models.trigger_request_cron import TriggerRequestCron
from matins_api.models.trigger_request_cron_kind import TriggerRequestCronKind
from matins_api.models.trigger_spec_cron import TriggerSpecCron
from matins_api.types import UNSET, Unset

NAME = "python-client"
FIRES = 3

T = TypeVar("T")
# The events that a session without approvals sends.
Followed = TraceEventRun | TraceEventMessage | TraceEventSession | TraceEventDelta


def body(answer: T | Problem | None) -> T:
    """Returns the body of a response, or raises its error, which has one schema for all statuses."""
    if answer is None or isinstance(answer, Problem):
        raise RuntimeError(answer)
    return answer


def events(url: str, token: str, session: str) -> Iterator[Followed]:
    """Follows the trace of a session. The generator reads no event streams."""
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.stream("GET", f"{url}/api/v1/sessions/{session}/trace", headers=headers) as stream:
        stream.raise_for_status()
        for line in stream.iter_lines():
            if line.startswith("data: "):
                yield read_event(json.loads(line.removeprefix("data: ")))


def read_event(data: dict[str, Any]) -> Followed:
    """Reads an event into the generated type that its `kind` names."""
    match data["kind"]:
        case "run":
            return TraceEventRun.from_dict(data)
        case "message":
            return TraceEventMessage.from_dict(data)
        case "session":
            return TraceEventSession.from_dict(data)
        case "delta":
            return TraceEventDelta.from_dict(data)
        case kind:
            raise ValueError(f"unexpected event {kind}")


def main(url: str, token: str) -> None:
    client = AuthenticatedClient(base_url=url, token=token)

    # 1. Create an automation.
    cron = TriggerRequestCron(
        kind=TriggerRequestCronKind.CRON, expression="0 9 1 1 *", zone="Europe/Prague"
    )
    request = AutomationRequest(
        name=NAME, prompt="What changed since yesterday?", agent="demo", triggers=[cron]
    )
    created = body(create_automation.sync(client=client, body=request))
    assert created.policies.overlap is None
    specs = [trigger.spec for trigger in created.triggers]
    assert [spec.zone for spec in specs if isinstance(spec, TriggerSpecCron)] == ["Europe/Prague"]

    # 2. Edit only `policies.overlap`.
    patch = AutomationPatch(policies=PoliciesPatch(overlap=Overlap.SKIP))
    edited = body(edit_automation.sync(created.id, client=client, body=patch))
    assert edited.policies.to_dict() == {**created.policies.to_dict(), "overlap": "skip"}

    # 3. Fire it.
    fired = [body(fire_automation.sync(NAME, client=client)) for _ in range(FIRES)]

    # 4. Follow the trace of its session until the first run ends.
    session = fired[0].session_id
    assert isinstance(session, str)
    statuses: list[str] = []
    answer = ""
    for event in events(url, token, session):
        if isinstance(event, TraceEventMessage) and event.role == MessageRole.ASSISTANT:
            assert event.message is not None
            answer = event.message.content
        if isinstance(event, TraceEventRun):
            statuses.append(event.change.status.value)
            if isinstance(event.change, RunChangeSucceeded):
                break
    assert statuses == ["queued", "running", "succeeded"], statuses
    assert answer

    # 5. Page through its runs, the newest first.
    ids: list[str] = []
    after: str | Unset = UNSET
    while True:
        page = body(list_runs.sync(client=client, automation=NAME, limit=1, after=after))
        ids.extend(run.id for run in page.items)
        if page.next_ is None:
            break
        after = page.next_
    assert ids == [run.id for run in reversed(fired)]

    # 6. An error has its own type.
    missing = show_automation.sync("no-such-automation", client=client)
    assert isinstance(missing, Problem) and missing.kind == ProblemKind.NOT_FOUND


main(*sys.argv[1:])
