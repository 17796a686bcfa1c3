"""`manage.py unlink_identity`: let an account be linked to another identity of the provider."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from policies.errors import NotFound
from policies.identity.services import external_sign_in
from policies.pdp import authorizer


class Command(BaseCommand):
    """Ends the links of one account; whoever arrives next under its user name is linked as at a first sign-in."""

    help = (
        "Unlink an account from its identity at the OpenID Connect provider. The next identity that signs in under its "
        "user name is linked to it."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Read whose links end."""
        parser.add_argument("urn", help="the user, for example urn:li:corpuser:jane")

    def handle(self, *_: Any, urn: str, **__: Any) -> None:
        """Remove the links and print how many there were."""
        if not urn.startswith("urn:"):
            raise CommandError(f"{urn!r} is not a URN; give one such as urn:li:corpuser:jane.")
        try:
            count = external_sign_in.unlink(urn=urn, by=authorizer.SYSTEM, channel="command")
        except NotFound as error:
            raise CommandError(error.detail) from None
        self.stdout.write(f"{count} link{'' if count == 1 else 's'} of {urn} removed.")
