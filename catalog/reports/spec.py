"""What a kind of report is: what can be asked of it, which tables it ends with, and which job makes it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import Any

from catalog import errors
from catalog.aspects.base import (
    ACCESS_ROLE,
    BESIDE,
    DOWNSTREAM,
    SUBJECT,
    TERM_HAS,
    TERM_IS,
    TERM_RELATED,
    TERM_VALUE,
    UPSTREAM,
)
from catalog.models import Report
from policies.engine.errors import Problem
from policies.errors import Invalid
from policies.models.fields import is_storable
from policies.writes import strict_json

#: Codes of what can be wrong with parameters.
UNKNOWN, REQUIRED, WRONG = "parameter.unknown", "required", "parameter.wrong"


#: Facets that no policy can test: external roles, what queries are about, lineage, and what nodes say beside what they
#: are.
UNTESTED = frozenset(
    {
        *(ACCESS_ROLE, DOWNSTREAM, SUBJECT, UPSTREAM),
        *(TERM_HAS, TERM_IS, TERM_RELATED, TERM_VALUE),
        *BESIDE.values(),
    }
)


class ColumnKind(StrEnum):
    """How a column is read: what its values are, and so how pages show them and where they link to.

    ENTITY, ACTOR (user, group or role) and POLICY hold URNs, NUMBER whole numbers, the others text; every one may be
    empty (null).
    """

    TEXT = "TEXT"
    NUMBER = "NUMBER"
    ENTITY = "ENTITY"
    ACTOR = "ACTOR"
    POLICY = "POLICY"
    PRIVILEGE = "PRIVILEGE"
    SEVERITY = "SEVERITY"
    STATE = "STATE"
    SQL = "SQL"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table of results: its name in files and the API, its heading, and how it is read.

    `labels` are the names that pages give to its codes; files and the API keep the codes.
    """

    name: str
    title: str
    kind: ColumnKind = ColumnKind.TEXT
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ResultTable:
    """A table of results. `key` are the columns that say what a row is about; the first one when none is named.

    Only the first `limit` rows are stored, by their position; all of them stay in the files of the run.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    key: tuple[str, ...] = ()
    limit: int | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that make the key of a row."""
        return self.key or (self.columns[0].name,)


class Input(StrEnum):
    """What a parameter is given as: JSON in the API and in `parameters`, text in a form."""

    TEXT = "text"
    NUMBER = "number"
    FLAG = "flag"
    DATE = "date"
    CHOICE = "choice"
    CHOICES = "choices"
    TEXTS = "texts"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class Parameter:
    """One thing that can be asked of a report.

    TEXT, DATE (ISO 8601) and CHOICE are texts, NUMBER a whole number, FLAG a truth value, CHOICES and TEXTS lists of
    texts, JSON anything. `choices` gives value → label when it is called; `check` says what else is wrong with a value,
    with pointers into it.
    """

    name: str
    title: str
    input: Input
    help: str = ""
    default: Any = None
    is_required: bool = False
    choices: Callable[[], Mapping[str, str]] = dict
    minimum: int = 0
    maximum: int = 2**31 - 1
    check: Callable[[Any], Iterable[Problem]] = lambda _: ()

    def problems(self, value: Any) -> list[Problem]:
        """Return everything that is wrong with a value, with pointers that begin at it."""
        if value in (None, "", []):
            return [Problem(REQUIRED, "", f"{self.title}: give one.")] if self.is_required else []
        found = [Problem(WRONG, "", f"{self.title}: {sentence}") for sentence in _CHECKS[self.input](self, value)]
        return found or list(self.check(value))

    def read(self, texts: Sequence[str]) -> Any:
        """Return what the texts of a form mean; what cannot be read stays text, which `problems` then refuses."""
        if self.input in (Input.CHOICES, Input.TEXTS):
            lines = (line.strip() for text in texts for line in text.splitlines())
            return list(dict.fromkeys(line for line in lines if line))
        text = texts[-1].strip() if texts else ""
        if self.input is Input.FLAG:
            return bool(text)
        if self.input is Input.NUMBER:
            return int(text) if text.isdecimal() and len(text) < 20 else text or None
        if self.input is Input.JSON and text:
            return _parsed(text)
        return text or None


def _text(_: Parameter, value: Any) -> Iterable[str]:
    if not isinstance(value, str) or not is_storable(value):
        yield "this has to be a text."


def _number(parameter: Parameter, value: Any) -> Iterable[str]:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if not is_whole or not parameter.minimum <= value <= parameter.maximum:
        yield f"this has to be a whole number from {parameter.minimum} to {parameter.maximum}."


def _flag(_: Parameter, value: Any) -> Iterable[str]:
    if not isinstance(value, bool):
        yield "this has to be true or false."


def _date(_: Parameter, value: Any) -> Iterable[str]:
    try:
        date.fromisoformat(value)
    except (TypeError, ValueError):
        yield "this has to be a date such as 2026-03-31."


def _choice(parameter: Parameter, value: Any) -> Iterable[str]:
    if not isinstance(value, str) or value not in parameter.choices():
        yield f"{value!r} is not one of the choices."


def _texts(_: Parameter, value: Any) -> Iterable[str]:
    if not isinstance(value, list) or not all(isinstance(one, str) and is_storable(one) for one in value):
        yield "this has to be a list of texts."


def _choices(parameter: Parameter, value: Any) -> Iterable[str]:
    wrong = list(_texts(parameter, value))
    yield from wrong
    if not wrong:
        known = parameter.choices()
        yield from (f"{one!r} is not one of the choices." for one in value if one not in known)


def _parsed(text: str) -> Any:
    """Return the JSON value of a text; what is none stays text."""
    try:
        return strict_json.loads(text.encode(errors="surrogatepass"))
    except Invalid:
        return text


def _json(_: Parameter, value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield "this is no JSON."


_CHECKS: Mapping[Input, Callable[[Parameter, Any], Iterable[str]]] = {
    Input.TEXT: _text,
    Input.NUMBER: _number,
    Input.FLAG: _flag,
    Input.DATE: _date,
    Input.CHOICE: _choice,
    Input.CHOICES: _choices,
    Input.TEXTS: _texts,
    Input.JSON: _json,
}


def _nothing_to_add(_: Report, __: Path) -> None: ...


def _nothing_to_do(_: Report) -> None: ...


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of report.

    `module` is the job that makes it. `prepare` may add files to the snapshot that the job reads, `after_load` use what
    was loaded, right before the run is READY and in the same transaction; what they raise as `policies.errors` or
    OSError ends the run with its sentence. Those of `is_nightly` run every night with the defaults of their parameters.
    With `keeps_snapshot` what a run was made from stays beside its results, so that more can be asked of it later.
    `unread` are the fields of facets that its snapshot goes without: what no policy can test.
    """

    name: str
    title: str
    description: str
    module: str
    tables: tuple[ResultTable, ...]
    parameters: tuple[Parameter, ...] = ()
    is_nightly: bool = False
    keeps_snapshot: bool = False
    unread: frozenset[str] = UNTESTED
    prepare: Callable[[Report, Path], None] = field(default=_nothing_to_add)
    after_load: Callable[[Report], None] = field(default=_nothing_to_do)

    def checked(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters with what was left out filled in.

        Raises Invalid with every problem; pointers begin at the parameters.
        """
        known = {parameter.name for parameter in self.parameters}
        problems = [
            Problem(UNKNOWN, errors.pointer([name]), f"{self.title} takes no parameter {name!r}.")
            for name in given
            if name not in known
        ]
        found: dict[str, Any] = {}
        for parameter in self.parameters:
            value = given.get(parameter.name)
            found[parameter.name] = parameter.default if value is None else value
            wrong = parameter.problems(found[parameter.name])
            problems += errors.placed(wrong, errors.pointer([parameter.name]))
        if problems:
            raise Invalid(problems)
        return found
