"""Durations as ISO 8601 writes them, of days, hours, minutes and seconds: `P3D`, `PT4H`, `P1DT12H`."""

import re
from datetime import timedelta

_DURATION = re.compile(r"P(?=.)(?:(\d{1,4})D)?(?:T(?=.)(?:(\d{1,5})H)?(?:(\d{1,6})M)?(?:(\d{1,8})S)?)?", re.ASCII)


def parse_duration(text: str) -> timedelta:
    """Return the duration that a text states; raises ValueError for another form, and for nothing at all."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError("Give a duration as P3D, PT4H or P1DT12H: days, hours, minutes, seconds.")
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    duration = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
    if not duration:
        raise ValueError("A duration is longer than nothing.")
    return duration


def format_duration(duration: timedelta) -> str:
    """Return a duration of whole seconds in the shortest form."""
    hours, rest = divmod(duration.seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    times = "".join(f"{number}{unit}" for number, unit in ((hours, "H"), (minutes, "M"), (seconds, "S")) if number)
    days = f"{duration.days}D" if duration.days else ""
    return f"P{days}T{times}" if times else f"P{days or '0D'}"
