"""The specification of a kind of report: its parameters, its tables of results, and its job."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Any

from django.conf import settings

from catalog import errors
from catalog.aspects.facet_fields import (
    ACCESS_ROLE,
    DOWNSTREAM,
    SUBJECT,
    SUBTYPE,
    TERM_HAS,
    TERM_IS,
    TERM_RELATED,
    TERM_VALUE,
    UNTESTED_FIELDS,
    UPSTREAM,
)
from catalog.models import Report
from catalog.reports import storage_problems
from catalog.reports.storage import StorageFolder
from catalog.reports.tables import ResultTable
from policies.engine.errors import Problem
from policies.errors import Invalid
from policies.models.fields import is_storable
from policies.writes import strict_json

#: Codes of problems of parameters.
UNKNOWN_PARAMETER, REQUIRED_PARAMETER, INVALID_PARAMETER = "parameter.unknown", "required", "parameter.wrong"


#: Facet fields that no policy can test: external roles, subjects of queries, lineage, and further properties of nodes.
UNTESTED_FACET_FIELDS = frozenset(
    {
        *(ACCESS_ROLE, DOWNSTREAM, SUBJECT, SUBTYPE, UPSTREAM),
        *(TERM_HAS, TERM_IS, TERM_RELATED, TERM_VALUE),
        *UNTESTED_FIELDS.values(),
    }
)


class ParameterType(StrEnum):
    """The type of a parameter: JSON in the API and in `parameters`, text in a form."""

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
    """A parameter of a kind of report.

    TEXT, DATE (ISO 8601) and CHOICE are texts, NUMBER a whole number, FLAG a boolean, CHOICES and TEXTS lists of texts,
    JSON anything. `choices` returns value -> label; `check` yields further problems of a value, with pointers into it.
    """

    name: str
    title: str
    input: ParameterType
    help: str = ""
    default: Any = None
    is_required: bool = False
    choices: Callable[[], Mapping[str, str]] = lambda: {}  # noqa: PIE807 - the API calls it, as it would not call a class
    minimum: int = 0
    maximum: int = 2**31 - 1
    check: Callable[[Any], Iterable[Problem]] = lambda _: ()

    def find_problems(self, value: Any) -> list[Problem]:
        """Return every problem of a value, with pointers relative to it."""
        if value in (None, "", []):
            return [Problem(REQUIRED_PARAMETER, "", f"{self.title}: give one.")] if self.is_required else []
        problems = [
            Problem(INVALID_PARAMETER, "", f"{self.title}: {sentence}") for sentence in self._describe_problems(value)
        ]
        return problems or list(self.check(value))

    def _describe_problems(self, value: Any) -> Iterator[str]:
        is_valid, sentence = _FORMS[self.input]
        if not is_valid(self, value):
            yield sentence.format(self)
        elif self.input in (ParameterType.CHOICE, ParameterType.CHOICES):
            choices = self.choices()
            for item in [value] if self.input is ParameterType.CHOICE else value:
                if not isinstance(item, str) or item not in choices:
                    yield f"{item!r} is not one of the choices."

    def parse_texts(self, texts: Sequence[str]) -> Any:
        """Return the value of the texts of a form; unparsable input stays text, which `find_problems` then rejects."""
        if self.input in (ParameterType.CHOICES, ParameterType.TEXTS):
            lines = (line.strip() for text in texts for line in text.splitlines())
            return list(dict.fromkeys(line for line in lines if line))
        text = texts[-1].strip() if texts else ""
        if self.input is ParameterType.FLAG:
            return bool(text)
        if self.input is ParameterType.NUMBER:
            return int(text) if text.isdecimal() and len(text) < 20 else text or None
        if self.input is ParameterType.JSON and text:
            return _parse_json(text)
        return text or None


def _parse_json(text: str) -> Any:
    """Return the JSON value of a text; invalid JSON stays text."""
    try:
        return strict_json.loads(text.encode(errors="surrogatepass"))
    except Invalid:
        return text


def _is_text(_: Parameter, value: Any) -> bool:
    return isinstance(value, str) and is_storable(value)


def _are_texts(parameter: Parameter, value: Any) -> bool:
    return isinstance(value, list) and all(_is_text(parameter, item) for item in value)


def _is_in_range(parameter: Parameter, value: Any) -> bool:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return is_whole and parameter.minimum <= value <= parameter.maximum


def _is_date(_: Parameter, value: Any) -> bool:
    try:
        date.fromisoformat(value)
    except (TypeError, ValueError):
        return False
    return True


#: Whether a value has the form of its type, and what to say if it has not.
_FORMS: Mapping[ParameterType, tuple[Callable[[Parameter, Any], bool], str]] = {
    ParameterType.TEXT: (_is_text, "this has to be a text."),
    ParameterType.NUMBER: (_is_in_range, "this has to be a whole number from {0.minimum} to {0.maximum}."),
    ParameterType.FLAG: (lambda _, value: isinstance(value, bool), "this has to be true or false."),
    ParameterType.DATE: (_is_date, "this has to be a date such as 2026-03-31."),
    ParameterType.CHOICE: (lambda *_: True, ""),
    ParameterType.CHOICES: (_are_texts, "this has to be a list of texts."),
    ParameterType.TEXTS: (_are_texts, "this has to be a list of texts."),
    ParameterType.JSON: (lambda _, value: not isinstance(value, str), "this is no JSON."),
}


@dataclass(frozen=True, slots=True)
class ReportSpec:
    """A kind of report.

    `module` is its job. `prepare` may add files to the snapshot that the job reads; a `policies.errors` error or
    OSError of it ends the run with its message. Rows of a table FINDINGS_TABLE become findings. `is_nightly` kinds run
    every night with default parameters. With `keeps_snapshot` the snapshot of a run is retained with its results, for
    later questions. `has_joins`: the job works with Spark's joins, and not in Python. `excluded_fields` are the facet
    fields that its snapshot omits, since no policy can test them.
    `find_input_problem` returns the sentence about what its job could not read elsewhere, before a run begins, or "".
    """

    name: str
    title: str
    description: str
    module: str
    tables: tuple[ResultTable, ...]
    parameters: tuple[Parameter, ...] = ()
    is_nightly: bool = False
    keeps_snapshot: bool = False
    has_joins: bool = False
    excluded_fields: frozenset[str] = UNTESTED_FACET_FIELDS
    prepare: Callable[[Report, StorageFolder], None] = lambda _, __: None
    find_input_problem: Callable[[], str] = str

    def find_problem(self) -> str:
        """Return the sentence about storage that a run needs and cannot use, or "". Takes seconds at most."""
        for variable in ("REPORTS_DIR", "RESULT_TABLES_DIR"):
            address: str = getattr(settings, variable)
            if address and (problem := storage_problems.find_writing_problem(address, variable=variable)):
                return problem
        return self.find_input_problem()

    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters with defaults filled in.

        Raises Invalid with every problem; pointers are relative to the parameters.
        """
        parameter_names = {parameter.name for parameter in self.parameters}
        problems = [
            Problem(UNKNOWN_PARAMETER, errors.json_pointer([name]), f"{self.title} takes no parameter {name!r}.")
            for name in arguments
            if name not in parameter_names
        ]
        values: dict[str, Any] = {}
        for parameter in self.parameters:
            value = arguments.get(parameter.name)
            values[parameter.name] = parameter.default if value is None else value
            parameter_problems = parameter.find_problems(values[parameter.name])
            problems += errors.add_pointer_prefix(parameter_problems, errors.json_pointer([parameter.name]))
        if problems:
            raise Invalid(problems)
        return values
