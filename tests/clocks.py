"""Sets clocks on or back: of this process alone, or together with that of the database."""

import time
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from policies.models import version

Move = Callable[[timedelta], None]


def move_own_clock(monkeypatch: pytest.MonkeyPatch) -> Move:
    """Return a function that sets the clock of this process on, or back."""
    real_now, real_time, offset = timezone.now, time.time, [timedelta()]
    monkeypatch.setattr(timezone, "now", lambda: real_now() + offset[0])
    monkeypatch.setattr(time, "time", lambda: real_time() + offset[0].total_seconds())

    def move(by: timedelta) -> None:
        offset[0] += by

    return move


def move_clocks(monkeypatch: pytest.MonkeyPatch) -> Move:
    """Return a function that sets the clock of this process and that of the database on, or back."""
    move_own, offset = move_own_clock(monkeypatch), [timedelta()]
    template = version._DatabaseTime.template

    def move(by: timedelta) -> None:
        move_own(by)
        offset[0] += by
        moved = f"{template} + {offset[0].total_seconds()}"
        monkeypatch.setattr(version._DatabaseTime, "template", moved)

    return move
