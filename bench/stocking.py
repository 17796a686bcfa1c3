"""`python -m bench.stocking POLICIES USERS ENTITIES`: fill an installation, or exchange its policies.

Runs in a process of its own, whose environment names the database (bench.http).
"""

import sys

import django

django.setup()

from django.db import connection, transaction  # noqa: E402  # the apps are there from here on

from bench import filling  # noqa: E402
from bench.worlds import Company  # noqa: E402
from catalog.models import Entity  # noqa: E402
from policies.models import Policy  # noqa: E402


def main() -> None:
    """Fill or exchange, and have the database's own housekeeping done."""
    policies, users, entities = (int(number) for number in sys.argv[1:])
    company = Company(policies, users=users, entities=entities)
    if Entity.objects.filter(type="dataset").exists():
        with transaction.atomic():
            Policy.objects.filter(urn__startswith="urn:li:dataHubPolicy:p", description="Measured").delete()
            filling.store_policies(company)
    else:
        # What all users and owners may do from the start is not of the company: other engines do not know of it.
        Policy.objects.filter(is_editable=True).delete()
        filling.fill(company)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM (ANALYZE)")


if __name__ == "__main__":
    main()
