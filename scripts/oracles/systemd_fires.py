"""Answers each line `zone TAB seconds TAB count TAB expression` with the next runs of systemd.

The expression is one of systemd.time(7). Consecutive lines that differ only in the expression go into one call of
systemd-analyze. An answer has the instants in seconds since 1970, separated by spaces.
"""

import itertools
import os
import re
import subprocess
import sys
from datetime import datetime, timezone
from importlib import resources
from zoneinfo import ZoneInfo

# The C library then uses the same time zones as Python.
ZONES = str(resources.files("tzdata") / "zoneinfo")
SHOWN = re.compile(
    r"(Next elapse|Iter(?:ation|\.) #\d+|\(in UTC\)): \S+ (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) (\S+)"
)


def seconds_of(wall, label, zone):
    """Returns the instant at which clocks of `zone` show `wall` with the abbreviation `label`."""
    wall = datetime.fromisoformat(wall)
    if label in ("UTC", "GMT"):
        return int(wall.replace(tzinfo=timezone.utc).timestamp())
    passes = (wall.replace(tzinfo=ZoneInfo(zone), fold=fold) for fold in (0, 1))
    return next(int(at.timestamp()) for at in passes if at.tzname() == label)


def fires(block, zone):
    """Parses the output for one expression. If the zone is not UTC, the same instant in UTC, which is unambiguous,
    follows the line of each instant."""
    found = []
    for title, wall, label in SHOWN.findall(block):
        if title == "(in UTC)":
            found[-1] = (wall, "UTC")
        else:
            found.append((wall, label))
    return " ".join(str(seconds_of(wall, label, zone)) for wall, label in found)


def answers(zone, seconds, count, expressions):
    shown = subprocess.run(
        ["systemd-analyze", "calendar", f"--iterations={count}", f"--base-time=@{seconds}"]
        + ["--", *expressions],
        env={"PATH": os.environ["PATH"], "TZ": zone, "TZDIR": ZONES, "LC_ALL": "C"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if shown.returncode == 0:
        for block in shown.stdout.split("Normalized form:")[1:]:
            yield fires(block, zone)
    elif len(expressions) == 1:
        yield "! " + shown.stderr.strip().replace("\n", " ")
    else:
        # One expression is invalid. Pass them one by one to find out which.
        for expression in expressions:
            yield from answers(zone, seconds, count, [expression])


lines = (line.rstrip("\n").split("\t") for line in sys.stdin)
for (zone, seconds, count), group in itertools.groupby(lines, key=lambda line: line[:3]):
    for answer in answers(zone, seconds, count, [line[3] for line in group]):
        print(answer)
