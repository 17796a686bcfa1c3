"""`python -m bench.visiting WORLD`: fill an installation, visit its pages as root, print how long each took, as JSON.

Runs in a process of its own, whose environment names the database (bench.pages).
"""

import gc
import json
import statistics
import sys
import time

import django

django.setup()

from django.core.management import call_command  # noqa: E402  # the apps are there from here on
from django.db import connection  # noqa: E402
from django.test import Client  # noqa: E402
from django.test.utils import CaptureQueriesContext  # noqa: E402

from bench import backends  # noqa: E402
from bench.filling import fill  # noqa: E402
from bench.worlds import Company  # noqa: E402
from catalog.models import Entity, Facet  # noqa: E402
from policies.models import Policy, User  # noqa: E402
from policies.models.people import USER_PREFIX  # noqa: E402
from policies.pdp import snapshot_store  # noqa: E402

#: How often each page is visited; the first visit is not counted.
VISITS = 7

BASE = "/settings/permissions/policies"
USERS, GROUPS = "/settings/identities/users", "/settings/identities/groups"


def addresses() -> dict[str, str]:
    """Return the pages: what they are called, and an address with something on it."""
    policy = Policy.objects.filter(is_editable=True, family="datahub").order_by("-urn")[0]
    entity = Entity.objects.filter(type="dataset").order_by("-pk")[0]
    person = User.objects.filter(memberships__isnull=False).order_by("-pk")[0]
    group = person.memberships.all()[0].group.profile
    question = f"privilege=EDIT_ENTITY_TAGS&actor={person.urn}"
    return {
        "home": "/",
        "my access": "/my/access",
        "what ends soon": "/my/access?show=ending",
        "what is my own": "/my/access?show=owned",
        "policies": BASE,
        "policies, searched": f"{BASE}?q=policy&state=ACTIVE&privilege=VIEW_ENTITY_PAGE",
        "policies, last page": f"{BASE}?page=99999&sort=-name",
        "one policy": f"{BASE}/{policy.urn}",
        "its history": f"{BASE}/history/{policy.urn}",
        "the builder": f"{BASE}/edit/{policy.urn}",
        "roles": "/settings/permissions/roles",
        "one role": "/settings/permissions/roles/urn:li:dataHubRole:Admin",
        "users": USERS,
        "users, searched": f"{USERS}?q={person.username[:3]}",
        "users, last page": f"{USERS}?page=99999",
        "one user": f"{USERS}/{person.urn}",
        "groups": GROUPS,
        "one group": f"{GROUPS}/{group.urn}",
        "service accounts": "/settings/identities/service-accounts",
        "access tokens": "/settings/tokens",
        "status": "/settings/status",
        "catalog": "/catalog",
        "catalog, searched": f"/catalog?q={entity.name[:4]}&type=dataset",
        "catalog by domain": "/catalog/browse/domains",
        "catalog by tag": "/catalog/browse/tags",
        "one entity": f"/catalog/{entity.urn}",
        "why": f"/why?{question}&resource={entity.urn}",
        "what can she do here": f"/why/can?actor={person.urn}&resource={entity.urn}",
        "who can do this here": f"/why/who?privilege=EDIT_ENTITY_TAGS&resource={entity.urn}",
        "what can she use it on": f"/why/what?{question}",
    }


def main() -> None:
    """Fill, visit, print."""
    world = sys.argv[1]
    call_command("migrate", verbosity=0)
    call_command("createcachetable")
    call_command("collectstatic", interactive=False, verbosity=0)
    call_command("bootstrap", "--restricted", verbosity=0, stdout=sys.stderr)
    if world == "sample":
        call_command("load_catalog", "catalog/sample/sample_catalog.json.gz", stdout=sys.stderr)
    else:
        policies, users, entities = (int(number) for number in world.split(","))
        fill(Company(policies, users=users, entities=entities))
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            # What its own housekeeping has done in any database that was not filled a second ago.
            cursor.execute("VACUUM (ANALYZE)")
    client = Client(SERVER_NAME="localhost")
    client.force_login(User.objects.get(urn=f"{USER_PREFIX}datahub"), "django.contrib.auth.backends.ModelBackend")
    snapshot_store.get_current()
    # As in a web process: policies and code stay in memory, so the collector does not traverse them.
    gc.collect()
    gc.freeze()
    counts = {"policies": Policy.objects.count(), "users": User.objects.count(), "facets": Facet.objects.count()}
    sys.stdout.write(json.dumps({"counts": counts, "pages": [_visited(client, *page) for page in addresses().items()]}))


def _visited(client: Client, name: str, address: str) -> tuple[str, float, float, float, int]:
    """Return a page's name, the median and longest milliseconds of a visit, those that were worked, queries.

    The work of this process and the database does not grow when the machine has other things to do, as the time on
    the clock does.
    """
    with CaptureQueriesContext(connection) as captured:
        answer = client.get(address)
    queries = len(captured)
    if answer.status_code != 200:
        raise RuntimeError(f"{address} answers {answer.status_code}.")
    spent, worked = [], []
    answering = backends.list_backends()
    for _ in range(VISITS):
        started, begun = time.perf_counter(), backends.worked_ms(answering)
        client.get(address)
        spent.append((time.perf_counter() - started) * 1000)
        worked.append(backends.worked_ms(answering) - begun)
    return name, statistics.median(spent), max(spent), statistics.median(worked), queries


if __name__ == "__main__":
    main()
