"""`manage.py refresh_policies`: reload all active policies, and have all processes compare theirs."""

from typing import Any

from django.core.management.base import BaseCommand

from policies.pdp import policy_change_events


class Command(BaseCommand):
    """Prints the policy version."""

    help = "Load all active policies, tell the workers to compare their version, and print the version."

    def handle(self, *_: Any, **__: Any) -> None:
        """Reload, notify and print."""
        self.stdout.write(str(policy_change_events.reload_all()))
