"""Validation of input, collecting every problem before anything is refused."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth import password_validation
from django.core.exceptions import ValidationError

from policies.engine.errors import Problem
from policies.errors import Invalid
from policies.models import User
from policies.models.fields import is_storable
from policies.models.people import MAX_IDENTIFIER_LENGTH

#: Longest e-mail address, in characters (RFC 5321 with room for a quoted name).
MAX_EMAIL_LENGTH = 320
#: Longest free text, in characters.
MAX_TEXT_LENGTH = 100_000

# A comma or bracket would end the name inside a URN that contains it; U+241F separates parts in DataHub's own keys.
_RESERVED_CHARACTERS = frozenset(",()\u241f")


@dataclass(slots=True)
class Checks:
    """The problems collected so far."""

    problems: list[Problem] = field(default_factory=list)

    def add(self, code: str, pointer: str, detail: str) -> None:
        """Add a problem."""
        self.problems.append(Problem(code, pointer, detail))

    def finish(self) -> None:
        """Raise Invalid if there is any problem."""
        if self.problems:
            raise Invalid(self.problems)

    def validate_count(self, values: Sequence[object], pointer: str, *, limit: int) -> None:
        """Check the length of a list; raises Invalid at once, so that a list that is too long is not examined."""
        if len(values) > limit:
            self.add("list.long", pointer, f"One call names up to {limit} here, not {len(values)}.")
            self.finish()

    def validate_text(
        self, value: Any, pointer: str, *, limit: int = MAX_TEXT_LENGTH, is_required: bool = False
    ) -> None:
        """Check a text for a column: its type, storable characters, length and presence."""
        if not isinstance(value, str):
            self.add("type", pointer, "This must be a text.")
        elif not is_storable(value):
            self.add("text.unstorable", pointer, "A text holds no NUL and no half of a surrogate pair.")
        elif len(value) > limit:
            self.add("text.long", pointer, f"This has up to {limit} characters.")
        elif is_required and not value.strip():
            self.add("required", pointer, "This field is required.")

    def validate_identifier(self, value: Any, pointer: str) -> None:
        """Check the identifier of a user, group or role, which is part of its URN.

        Any printable characters but comma, round brackets and U+241F, without blanks at either end: addresses, Windows
        names and names with blanks are all in use.
        """
        problem_count = len(self.problems)
        self.validate_text(value, pointer, limit=MAX_IDENTIFIER_LENGTH, is_required=True)
        if len(self.problems) == problem_count and (
            value != value.strip() or not value.isprintable() or not _RESERVED_CHARACTERS.isdisjoint(value)
        ):
            detail = "Printable characters without comma and round brackets, and no blank at either end."
            self.add("identifier.invalid", pointer, detail)

    def validate_choice(self, value: Any, pointer: str, choices: Sequence[str]) -> None:
        """Check that the value is one of the choices."""
        if value not in choices:
            self.add("choice", pointer, f"This is one of {', '.join(choices)}.")

    def validate_object_id(self, value: Any, pointer: str) -> None:
        """Check that the value is an object id: 24 hexadecimal digits in lower case."""
        if not isinstance(value, str) or re.fullmatch("[0-9a-f]{24}", value) is None:
            self.add("object_id.invalid", pointer, "An object id is 24 hexadecimal digits.")

    def validate_password(self, value: Any, pointer: str, user: User) -> None:
        """Check a new password against AUTH_PASSWORD_VALIDATORS."""
        problem_count = len(self.problems)
        self.validate_text(value, pointer, limit=1024, is_required=True)
        if len(self.problems) > problem_count:
            return
        try:
            password_validation.validate_password(value, user)
        except ValidationError as error:
            for message in error.messages:
                self.add("password.weak", pointer, message)

    def validate_known(self, urns: Sequence[str], existing_urns: Collection[str], pointer: str, kind: str) -> None:
        """Check that each URN of a list exists; problems point to its index."""
        for position, urn in enumerate(urns):
            if urn not in existing_urns:
                self.add("unknown", f"{pointer}/{position}", f"There is no {kind} {urn!r}.")
