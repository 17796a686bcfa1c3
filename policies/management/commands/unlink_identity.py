"""`manage.py unlink_identity`: unlink an account from its identity at the OpenID Connect provider."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from policies.errors import NotFound
from policies.identity.services import external_sign_in
from policies.pdp import authorizer


class Command(BaseCommand):
    """Removes the links of one account; the next identity that signs in with its user name is linked to it."""

    help = (
        "Unlink an account from its identity at the OpenID Connect provider. The next identity that signs in under its "
        "user name is linked to it."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the URN of the user."""
        parser.add_argument("urn", help="the user, for example urn:li:corpuser:jane")

    def handle(self, *_: Any, urn: str, **__: Any) -> None:
        """Remove the links and print their number."""
        if not urn.startswith("urn:"):
            raise CommandError(f"{urn!r} is not a URN; give one such as urn:li:corpuser:jane.")
        try:
            count = external_sign_in.unlink(urn=urn, by=authorizer.SYSTEM, channel="command")
        except NotFound as error:
            raise CommandError(error.detail) from None
        self.stdout.write(f"{count} link{'' if count == 1 else 's'} of {urn} removed.")
