"""Under view authorization a page answers about a hidden entity as about one that is not stored: status, headers, body.

Asked by somebody who may view something else, alone or with the privileges of who manages policies.
"""

import re
from urllib.parse import quote

import pytest

from catalog.entities.pages.edit_controls import CONTROLS
from policies.models import User
from tests.doors.conftest import ROOT, give, proposal
from tests.doors.test_gms_access import close_the_reading_policies

pytestmark = pytest.mark.django_db


def table(name):
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)"


#: What is hidden beside what is not stored, by type. Their names occur in nothing else, and are equally long.
HID, GONE = "kqx", "wvz"
PAIRS = {
    kind: tuple(pattern.format(name) for name in (HID, GONE))
    for kind, pattern in {
        "dataset": table("{}"),
        "domain": "urn:li:domain:{}",
        "dataProduct": "urn:li:dataProduct:{}",
        "glossaryTerm": "urn:li:glossaryTerm:{}",
    }.items()
}
SECRET, PART = "urn:li:domain:secret", table("part")
ROLE, MINE = "urn:li:role:reader", table("mine")


@pytest.fixture(params=sorted(PAIRS))
def pair(request):
    return PAIRS[request.param]


@pytest.fixture
def world(root, settings, pair):
    """An entity with tags, an owner, a name, a domain, a role that opens it, and something that lies in it; hidden."""
    hidden, _ = pair
    named = {
        "dataset": ("datasetProperties", {"name": "Zaphod"}),
        "domain": ("domainProperties", {"name": "Zaphod"}),
        "dataProduct": ("dataProductProperties", {"name": "Zaphod"}),
        "glossaryTerm": ("glossaryTermInfo", {"name": "Zaphod", "definition": "", "termSource": "INTERNAL"}),
    }
    kind = hidden.split(":")[2]
    found = [
        proposal(hidden, *named[kind]),
        proposal(hidden, "globalTags", {"tags": [{"tag": "urn:li:tag:old"}]}),
        proposal(hidden, "ownership", {"owners": [{"owner": ROOT}]}),
        proposal(ROLE, "roleProperties", {"name": "Reader", "type": "READ"}),
        proposal(MINE, "datasetProperties", {"name": "Mine"}),
        proposal(PART, "datasetProperties", {"name": "Part"}),
    ]
    if kind == "dataset":
        found += [proposal(hidden, "access", {"roles": [{"urn": ROLE}]})]
        found += [proposal(hidden, "domains", {"domains": [SECRET]})]
    if kind == "domain":
        found += [proposal(PART, "domains", {"domains": [hidden]})]
    if kind == "glossaryTerm":
        terms = {"terms": [{"urn": hidden}], "auditStamp": {"time": 0, "actor": ROOT}}
        found += [proposal(PART, "glossaryTerms", terms)]
    answer = root.write(*found)
    assert answer.status_code == 200, answer.content
    close_the_reading_policies(root)
    settings.VIEW_AUTHORIZATION_ENABLED = settings.SHOW_ACCESS_MANAGEMENT = True


def signed_in(who, client):
    only = {"filter": {"criteria": [{"field": "URN", "values": [MINE, PART]}]}}
    give(who.urn, "VIEW_ENTITY_PAGE", "EDIT_ENTITY", resources=only)
    roles = {"filter": {"criteria": [{"field": "TYPE", "values": ["role"]}]}}
    give(who.urn, "EDIT_ENTITY", displayName="Roles", resources=roles)
    client.force_login(User.objects.get(urn=who.urn), backend="django.contrib.auth.backends.ModelBackend")
    return client


@pytest.fixture
def reader(world, person, client):
    return signed_in(person("jo"), client)


@pytest.fixture
def manager(world, person, client):
    mia = person("mia")
    give(mia.urn, "MANAGE_POLICIES", "CHECK_ACCESS", "GENERATE_PERSONAL_ACCESS_TOKENS", type="PLATFORM")
    return signed_in(mia, client)


#: Stands for the URN that a call is about.
IT = object()


def calling(method, path, fields):
    def call(client, urn):
        values = {name: urn if value is IT else value for name, value in fields.items()}
        return getattr(client, method)(path.format(quote(urn, safe="")), values)

    return call


def get(path, **asked):
    return calling("get", path, asked)


def post(path, **sent):
    return calling("post", path, sent)


POLICIES = "/settings/permissions/policies"
TABS = ("", "columns", "contents", "access", "documents", "nothing")
CDAP = ("grants", "patterns", "revoke", "operations", "tree")
FILTERS = ("domain", "term", "tag", "container", "platform", "q")
MINE_QUOTED = quote(MINE, safe="")
CALLS = {
    **{f"tab {tab}": get("/catalog/{}", show=tab) for tab in TABS},
    **{f"form {what}": get(f"/catalog/edit/{what}/{{}}") for what in CONTROLS},
    **{f"save {what}": post(f"/catalog/edit/{what}/{{}}", seen="", description="x") for what in CONTROLS},
    **{page: get(f"/catalog/{page}/{{}}") for page in CDAP},
    **{f"{page} sent": post(f"/catalog/{page}/{{}}", privileges="READ") for page in ("grants", "patterns", "revoke")},
    **{f"list by {name}": get("/catalog", **{name: IT}) for name in FILTERS},
    **{
        f"tree of {way}": get(f"/catalog/browse/{way}", under=IT)
        for way in ("domains", "glossary", "containers", "tags")
    },
    **{f"pick {kind}": get(f"/catalog/pick/{kind}", q=IT) for kind in ("domains", "terms", "datasets", "owners")},
    "address of DataHub": get("/dataset/{}"),
    "why": get("/why", privilege="EDIT_ENTITY_TAGS", resource=IT),
    "why about a column": get("/why", privilege="EDIT_ENTITY_TAGS", resource=MINE, sub_resources=IT),
    "why can": get("/why/can", resource=IT),
    "why restrictions": get("/why/restrictions", resource=IT),
    "external role": get("/external-roles/{}"),
    "external role form": get("/external-roles/edit/{}"),
    "external role sent": post("/external-roles/edit/{}", name="R", type="READ"),
    "external role question": get("/external-roles/delete/{}"),
    "external role deleted": post("/external-roles/delete/{}"),
    "external roles held": get("/external-roles/held/{}"),
    "external role that opens it": post(f"/external-roles/edit/{ROLE}", name="R", type="READ", datasets=IT),
    "new external role": post("/external-roles/new", urn="urn:li:role:new", name="R", type="READ", datasets=IT),
    "domain to put into": post(f"/catalog/edit/domains/{MINE_QUOTED}", seen="", domains=IT),
    "term to add": post(f"/catalog/edit/terms/{MINE_QUOTED}", seen="", terms=IT),
}
MANAGING = {
    "who": get("/why/who", privilege="EDIT_ENTITY_TAGS", resource=IT),
    "report": post("/reports/new/role_mapping_check", tags=IT),
    "form of a report": get("/reports/new/role_mapping_check", tags=IT),
    **{f"options {field}": get(f"{POLICIES}/options/{field}", q=IT) for field in ("URN", "DOMAIN", "GLOSSARY")},
    **{
        f"branches {field}": get(f"{POLICIES}/branches/{field}", name="c0", under=IT)
        for field in ("DOMAIN", "GLOSSARY")
    },
    "ids": get(f"{POLICIES}/statements/ids", kind="dataset", q=IT),
    "decisions": get("/settings/audit", resource=IT),
    "changes": get("/settings/audit/people", object=IT),
    "changes over the API": get("/api/v1/audit/", of="people", object=IT),
    "decisions over the API": get("/api/v1/audit/", of="decisions", resource=IT),
    "policies of it": get(POLICIES, q=IT),
}
#: Headers that name the one request.
_OWN = {"X-Request-ID", "Date", "Expires", "traceparent", "Server-Timing", "Content-Security-Policy", "Set-Cookie"}
#: The signed ticket of a draft, which names the address of its form and the time.
_TICKET = re.compile(r'value="[\w-]+:[\w-]+:[\w-]{43}"')
#: Tokens against forged requests, ids of requests, the age of the policies, and the time that stands on paper.
_VARYING = re.compile(
    r"(?<![A-Za-z0-9])"
    r"(?:[A-Za-z0-9]{64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9.]+ seconds ago|Printed [^<]+ UTC)"
    r"(?![A-Za-z0-9])"
)


def told(answer, name):
    """Return status, headers and body, as if the URN were another and the call were not numbered."""
    kept = {header: value.replace(name, "NAME") for header, value in answer.headers.items() if header not in _OWN}
    text = _TICKET.sub('value="TICKET"', answer.content.decode())
    return answer.status_code, kept, _VARYING.sub("…", text).replace(name, "NAME")


def differing(client, pair, calls):
    hidden, absent = pair
    found = {}
    for name, call in calls.items():
        seen, missed = told(call(client, hidden), HID), told(call(client, absent), GONE)
        assert "Zaphod" not in seen[2], name
        if seen != missed:
            lines = zip(seen[2].splitlines(), missed[2].splitlines(), strict=False)
            found[name] = (seen[:2], missed[:2], [both for both in lines if both[0] != both[1]][:4])
    return found


@pytest.mark.drawn(2)
def test_a_reader_learns_nothing(reader, pair):
    assert differing(reader, pair, CALLS) == {}


@pytest.mark.drawn(2)
def test_nor_does_who_manages_policies(manager, pair):
    """But for answers about what others may do, which are about these: Check Access is the right to ask."""
    assert differing(manager, pair, CALLS | MANAGING) == {}


@pytest.mark.parametrize("pair", [PAIRS["dataset"], PAIRS["glossaryTerm"]])
def test_nor_does_who_may_view_everything_but_some(world, person, client, pair):
    """A policy with NOT_EQUALS lets Jo view what is not stored; what a question finds out depends on facts."""
    others = {"field": "TAG", "values": ["urn:li:tag:old"], "condition": "NOT_EQUALS"}
    jo = person("jo", "VIEW_ENTITY_PAGE", resources={"filter": {"criteria": [others]}})
    calls = {name: call for name, call in CALLS.items() if not name.startswith("why")}
    assert differing(signed_in(jo, client), pair, calls) == {}


@pytest.mark.parametrize("pair", [PAIRS["dataset"]])
def test_who_may_view_it_is_answered_about_it(world, pair, client):
    """What the calls ask is there: answered to root about what is stored, and in other words about what is not."""
    client.force_login(User.objects.get(urn=ROOT), backend="django.contrib.auth.backends.ModelBackend")
    hidden, absent = pair
    for name in (
        "tab access",
        "form access",
        "save owners",
        "list by q",
        "pick datasets",
        "why can",
        "options URN",
        "changes",
        "changes over the API",
        "external role that opens it",
    ):
        call = (CALLS | MANAGING)[name]
        assert told(call(client, hidden), HID) != told(call(client, absent), GONE), name
