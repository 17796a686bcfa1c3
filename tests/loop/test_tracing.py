"""Marked modules do what they did, and the functions that ran are known by their names."""

import asyncio
import sys
from types import ModuleType

import pytest

from tests import tracing

SOURCE = b'''"""A module with all forms of functions."""

from __future__ import annotations

import asyncio

TABLE = {"made": 1}


def plain():
    """It has a docstring."""
    return TABLE["made"]


def only_documented():
    """It has nothing else."""


def outer():
    def inner():
        return 2

    return [inner() for _ in range(2)]


def gives():
    yield 3


async def waits():
    return 4


class Shop:
    def __init__(self):
        self.name = "shop"

    @property
    def label(self):
        return self.name

    @staticmethod
    def sell(): return 5


def never_called():
    return 6
'''


@pytest.fixture
def traces(monkeypatch):
    """Traces of this test's own."""
    made = tracing.Traces()
    monkeypatch.setattr(tracing, "TRACES", made)
    return made


def make_module() -> ModuleType:
    module = ModuleType("marked")
    exec(compile(tracing.add_marks(SOURCE, "catalog.marked"), "marked.py", "exec"), vars(module))
    return module


def test_each_function_that_runs_is_named_once(traces):
    module = make_module()
    assert module.plain() == 1
    assert module.plain() == 1
    assert module.only_documented() is None
    assert module.outer() == [2, 2]
    assert list(module.gives()) == [3]
    assert asyncio.run(module.waits()) == 4
    assert module.Shop().label == "shop"
    assert module.Shop.sell() == 5
    names = ["Shop.__init__", "Shop.label", "Shop.sell", "gives", "only_documented", "outer", "outer.inner"]
    expected = {f"catalog.marked:{name}" for name in [*names, "plain", "waits"]}
    assert traces.take().functions == expected
    assert traces.take().functions == set()


def test_docstrings_and_lines_stay_as_they_are(traces):
    module = make_module()
    assert module.__doc__ == "A module with all forms of functions."
    assert module.plain.__doc__ == "It has a docstring."
    assert module.plain.__code__.co_firstlineno == 10


def test_what_is_put_back_counts_at_the_next_look(traces):
    module = make_module()
    module.plain()
    before = traces.take()
    traces.put_back(before)
    assert traces.take() == before


def test_a_function_inside_another_has_the_name_that_marks_give_it():
    def inner():
        return next(sys._getframe().f_code.co_qualname for _ in "a")

    assert tracing.find_function(inner()).endswith(".inner")
    assert tracing.find_function("Shop.sell.<locals>.count.<locals>.<lambda>") == "Shop.sell.count"
