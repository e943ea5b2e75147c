"""Answers each line `zone TAB seconds TAB count TAB expression` with the next fires of croniter.

An answer is the instants in seconds since 1970 with spaces between, fewer than asked for where there
are no more, or `!` and what went wrong.
"""

import sys
from datetime import datetime
from zoneinfo import ZoneInfo

from croniter import CroniterBadDateError, CroniterError, croniter


def fires(zone, seconds, count, expression):
    schedule = croniter(
        expression,
        datetime.fromtimestamp(int(seconds), ZoneInfo(zone)),
        # Of Vixie cron: day fields restrict together where one of them begins with `*`.
        implement_cron_bug=True,
        second_at_beginning=True,
        # A 29 February that is a certain weekday may be forty years off.
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
