"""`manage.py create_token`: create an access token and print it once."""

import argparse
import re
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from policies.errors import Invalid
from policies.identity.services import access_tokens
from policies.pdp import authorizer

_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def parse_lifetime(text: str) -> timedelta | None:
    """Return the duration spelt `30d`, `12h`, `45m` or `2w`, None for `never`; raises ArgumentTypeError."""
    if text == "never":
        return None
    match = re.fullmatch(r"([1-9][0-9]{0,5})([mhdw])", text, re.ASCII)
    if match is None:
        raise argparse.ArgumentTypeError("use for example 30d, 12h, 45m, 2w or never")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


class Command(BaseCommand):
    """Prints the token and nothing else, for use in scripts."""

    help = "Create an access token for a user and print it. It is printed only once and cannot be read again."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the owner, the name and the lifetime of the token."""
        parser.add_argument("actor_urn", help="the user, for example urn:li:corpuser:datahub")
        parser.add_argument("--name", required=True, help="the name of the token in lists")
        parser.add_argument(
            "--expires",
            type=parse_lifetime,
            default=timedelta(days=30),
            metavar="TIME",
            help="how long the token is valid, for example 45m, 12h, 2w or never (default: 30d)",
        )

    def handle(self, *_: Any, actor_urn: str, name: str, expires: timedelta | None, **__: Any) -> None:
        """Create the token and print it."""
        if not actor_urn.startswith("urn:"):
            raise CommandError(f"{actor_urn!r} is not a URN; give one such as urn:li:corpuser:datahub.")
        try:
            new_token = access_tokens.create(
                owner=actor_urn, name=name, duration=expires, by=authorizer.SYSTEM, channel="command"
            )
        except Invalid as error:
            raise CommandError(" ".join(problem.detail for problem in error.problems)) from None
        self.stdout.write(new_token.text)
