"""Functions that fail in a Python process of Spark, which imports this module: so there is no Django here."""

import os
import signal
from importlib import import_module

from catalog.reports.snapshot.reader import CorruptSnapshot


def raise_corruption(_: int) -> int:
    raise CorruptSnapshot("facets.parquet of the snapshot cannot be read.")


def raise_bug(number: int) -> int:
    return {0: 1}[number + 1]


def raise_memory_error(_: int) -> int:
    raise MemoryError


def open_nothing(_: int) -> int:
    return os.open("/nowhere/part", os.O_RDONLY)


def import_nothing(_: int) -> int:
    return int(import_module("nowhere").NUMBER)


def end_at_once(_: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return 0
