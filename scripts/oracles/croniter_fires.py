"""Answers each line `zone TAB seconds TAB count TAB expression` with the next runs of croniter.

An answer has the instants in seconds since 1970, separated by spaces: fewer than `count` if there are no more. An
error is `!` and its message.
"""

import sys
from datetime import datetime
from zoneinfo import ZoneInfo

from croniter import CroniterBadDateError, CroniterError, croniter


def fires(zone, seconds, count, expression):
    schedule = croniter(
        expression,
        datetime.fromtimestamp(int(seconds), ZoneInfo(zone)),
        # As in Vixie cron: if one of the day fields begins with `*`, a day must match both fields.
        implement_cron_bug=True,
        second_at_beginning=True,
        # The next 29 February on a certain weekday may be forty years away.
        max_years_between_matches=50,
    )
    for _ in range(int(count)):
        try:
            yield str(int(schedule.get_next()))
        except CroniterBadDateError:
            return


for line in sys.stdin:
    try:
        print(*fires(*line.rstrip("\n").split("\t")))
    except (CroniterError, AssertionError, OverflowError) as error:
        print("!", type(error).__name__, str(error).replace("\n", " "))
