"""A walk over the whole registry: who holds one privilege alone does what the table says, at every interface, and
nothing else.

What is expected comes from the rows of the table as they stand; what guards reading is walked in
`test_guarded_documents`. `make test` tries what a privilege opens and draws from the rest, `make test-all` tries all.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import pytest

from catalog.ingest import apply
from catalog.ingest.apply import Proposal
from policies.engine.families import vocabulary
from policies.engine.families.privilege_effects import load_effects
from policies.errors import Forbidden
from policies.identity.services import groups, users
from policies.pdp import actor_resolution, authorizer
from tests.catalog.conftest import said, tell, undone
from tests.depth import IS_WHOLE
from tests.doors.conftest import DATASET, DOOR, Caller, calling, proposal
from tests.doors.holders import holder_urn, make_holders

pytestmark = pytest.mark.django_db

TABLE = vocabulary.read_table("datahub_effects")
REGISTRY = vocabulary.load_datahub()
#: How many of the deeds that a privilege does not open are tried with it in `make test`.
DRAWN = 4

JO, CREW, NODE, TAG = "urn:li:corpuser:jo", "urn:li:corpGroup:crew", "urn:li:glossaryNode:n", "urn:li:tag:x"
COLUMN = f"urn:li:schemaField:({DATASET},a)"
SOURCE = "urn:li:dataHubIngestionSource:s"
URNS = {
    "chart": "urn:li:chart:(looker,c)",
    "corpGroup": CREW,
    "corpuser": JO,
    "dashboard": "urn:li:dashboard:(looker,d)",
    "dataset": DATASET,
    "schemaField": COLUMN,
}
#: Type of the entities that have a document, where it is no dataset.
TYPES = {
    "applicationProperties": "application",
    "businessAttributeInfo": "businessAttribute",
    "chartInfo": "chart",
    "corpGroupEditableInfo": "corpGroup",
    "dashboardInfo": "dashboard",
    "dataProductProperties": "dataProduct",
    "documentInfo": "document",
    "domainProperties": "domain",
    "glossaryNodeInfo": "glossaryNode",
    "glossaryTermInfo": "glossaryTerm",
    "tagProperties": "tag",
}
#: Documents as they are stored, where `{}` is not enough, and values of parts, where a text is no value.
STORED: dict[str, dict] = {
    "assertionInfo": {"customAssertion": {"entity": DATASET}},
    "chartInfo": {"title": "c"},
    "dashboardInfo": {"title": "d"},
    "dataContractProperties": {"entity": DATASET},
    "dataHubExecutionRequestInput": {"source": {"ingestionSource": SOURCE}},
    "editableSchemaMetadata": {"editableSchemaFieldInfo": [{"fieldPath": "a"}]},
    "erModelRelationshipProperties": {"source": DATASET, "destination": DATASET},
    "glossaryNodeInfo": {"name": "n", "parentNode": NODE},
    "glossaryTermInfo": {"name": "m", "parentNode": NODE},
    "incidentInfo": {"entities": [DATASET]},
    "schemaMetadata": {"fields": [{"fieldPath": "a"}]},
    **{name: {"name": "x"} for name in TYPES if name.endswith("Properties") and not name.startswith("corp")},
    **{name: {"name": "x"} for name in ("businessAttributeInfo", "ownershipTypeInfo")},
}
VALUES: dict[str, Any] = {
    "globalTags": lambda number: {"tags": [{"tag": f"urn:li:tag:{number}"}]},
    "glossaryTerms": lambda number: {"terms": [{"urn": f"urn:li:glossaryTerm:{number}"}]},
    "inputs": lambda number: [{"string": f"{DATASET[:-6]}{number},PROD)"}],
    **dict.fromkeys(
        ("chartEdges", "dashboards", "datasetEdges", "inputEdges"),
        lambda number: [{"destinationUrn": f"{DATASET[:-6]}{number},PROD)"}],
    ),
    **dict.fromkeys(("charts", "datasets"), lambda number: [f"{DATASET[:-6]}{number},PROD)"]),
    "email": lambda number: f"a{number}@x.example",
}
WHOLE: dict[str, Any] = {
    "dataPlatformInstance": lambda number: {"platform": f"urn:li:dataPlatform:{number}"},
    "deprecation": lambda number: {"deprecated": True, "note": str(number)},
    "domains": lambda number: {"domains": [f"urn:li:domain:{number}"]},
    "globalTags": VALUES["globalTags"],
    "glossaryTerms": VALUES["glossaryTerms"],
    "institutionalMemory": lambda number: {"elements": [{"url": f"https://x.example/{number}"}]},
    "ownership": lambda number: {"owners": [{"owner": f"urn:li:corpuser:{number}"}]},
    "status": lambda number: {"removed": False, "lifecycleStage": f"urn:li:lifecycleStageType:{number}"},
    "structuredProperties": lambda number: {"properties": [{"propertyUrn": f"urn:li:structuredProperty:{number}"}]},
    "subTypes": lambda number: {"typeNames": [str(number)]},
}
#: Kinds of people -> privileges that change everything of them.
OF_PEOPLE = {
    "corpuser": {"MANAGE_USERS_AND_GROUPS", "UPDATE_USERS", "UPDATE_USERS_AND_GROUPS"},
    "corpGroup": {"MANAGE_USERS_AND_GROUPS", "UPDATE_GROUPS", "UPDATE_USERS_AND_GROUPS"},
}


@dataclass(frozen=True)
class Deed:
    """A change of one part of one document, and the privileges each of which opens it alone."""

    type: str
    aspect: str
    part: str
    openers: frozenset[str]

    @property
    def urn(self) -> str:
        return URNS.get(self.type, f"urn:li:{self.type}:x")

    def document(self, number: int) -> dict[str, Any]:
        """Return the document with the part changed, to something else for each number."""
        stored_document = STORED.get(self.aspect, {})
        if not self.part:
            return WHOLE[self.aspect](number) if self.aspect in WHOLE else {**stored_document, "note": number}
        listed, _, key = self.part.rpartition(".")
        value = VALUES[key](number) if key in VALUES else f"x{number}"
        if not listed:
            return {**stored_document, key: value}
        entry = {"fieldPath": "a", key: value}
        return {listed.partition("[")[0]: [entry]}

    def propose(self, number: int) -> Proposal:
        return said(self.urn, self.aspect, self.document(number))


def list_deeds() -> Iterator[Deed]:
    """Yield a deed for each part of a document, and each whole document of a managed type, that a row names."""
    rows = [
        (row["privilege"], aspect, part, row.get("types"))
        for row in TABLE["edit"]
        for aspect in row["aspects"]
        for part in row.get("parts", [""])
    ]
    keys = {
        (type_, aspect, part) for _, aspect, part, types in rows for type_ in types or [TYPES.get(aspect, "dataset")]
    }
    managed = [(row["privilege"], type_, row.get("aspects", [])) for row in TABLE["manager"] for type_ in row["types"]]
    named = {aspect for _, aspect, _, _ in rows}
    keys |= {(type_, aspect, "") for _, type_, aspects in managed for aspect in aspects if aspect not in named}
    for type_, aspect, part in sorted(keys):
        openers = {
            privilege
            for privilege, other_aspect, other_part, types in rows
            if other_aspect == aspect and other_part in ("", part) and (types is None or type_ in types)
        }
        openers |= {
            privilege for privilege, other_type, aspects in managed if other_type == type_ and aspect in aspects
        }
        openers |= OF_PEOPLE.get(type_, set())
        # By the address people are identified, and everybody holds EDIT_ENTITY on themselves.
        is_address = (type_, part) == ("corpuser", "email")
        yield Deed(type_, aspect, part, frozenset(openers if is_address else openers | {"EDIT_ENTITY"}))


DEEDS = tuple(list_deeds())


def opens(privilege: str, deed: Deed) -> bool:
    """Whether a privilege opens a deed, alone or by what it implies."""
    return not deed.openers.isdisjoint(REGISTRY.widen([privilege]))


def test_every_privilege_of_the_registry_stands_in_the_table() -> None:
    effects = load_effects()
    assert effects.listed_privileges == REGISTRY.names
    enforced = effects.listed_privileges - effects.other_products.keys()
    rows = [*TABLE["edit"], *TABLE["manager"], *TABLE["view"], *TABLE["call"]]
    assert {row["privilege"] for row in rows} <= enforced
    assert set(effects.own_rules) <= enforced


@pytest.fixture
def world(root: Caller) -> None:
    """An entity of each type of a deed, with its documents; and for each privilege a person who holds it alone."""
    users.create(username="jo", by=authorizer.SYSTEM, channel=DOOR)
    groups.create(name="Crew", identifier="crew", by=authorizer.SYSTEM, channel=DOOR)
    stored = {(deed.urn, deed.aspect): STORED[deed.aspect] for deed in DEEDS if deed.aspect in STORED}
    bare = {deed.urn for deed in DEEDS} - {JO, CREW}
    tell(
        said(NODE, "status", {}),
        *(said(urn, "status", {}) for urn in sorted(bare)),
        *(said(urn, aspect, document) for (urn, aspect), document in sorted(stored.items(), key=str)),
    )
    make_holders({name: [name] for name in sorted(REGISTRY.names)})


def may_write(deed: Deed, privilege: str) -> bool:
    by = actor_resolution.load_actor(urn=holder_urn(privilege))
    with undone():
        try:
            apply.apply(proposals=[deed.propose(1)], by=by, channel=DOOR)
        except Forbidden:
            return False
        return True


@pytest.mark.usefixtures("world")
def test_who_holds_one_privilege_alone_does_what_it_opens_and_nothing_else(pytestconfig: pytest.Config) -> None:
    draw = random.Random(str(pytestconfig.getoption("hypothesis_seed", None)))
    tried = []
    for privilege in sorted(REGISTRY.names):
        closed = [deed for deed in DEEDS if not opens(privilege, deed)]
        tried += [(privilege, deed) for deed in DEEDS if opens(privilege, deed)]
        tried += [(privilege, deed) for deed in (closed if IS_WHOLE else draw.sample(closed, min(DRAWN, len(closed))))]
    assert not [
        (privilege, deed.type, deed.aspect, deed.part, opens(privilege, deed))
        for privilege, deed in tried
        if may_write(deed, privilege) is not opens(privilege, deed)
    ]


@pytest.mark.usefixtures("world")
def test_what_a_privilege_opens_it_opens_at_every_interface(pytestconfig: pytest.Config) -> None:
    draw = random.Random(str(pytestconfig.getoption("hypothesis_seed", None)))
    pairs = [(privilege, deed) for deed in DEEDS for privilege in sorted(deed.openers - {"EDIT_ENTITY"})]
    wrong, callers = [], {}
    for privilege, deed in pairs if IS_WHOLE else draw.sample(pairs, len(pairs) // 4):
        if privilege not in callers:
            callers[privilege] = calling(holder_urn(privilege))
        with undone():
            statuses = [answer.status_code for answer in write_everywhere(callers[privilege], deed)]
        if set(statuses) != {200}:
            wrong.append((privilege, deed.type, deed.aspect, deed.part, statuses))
    assert not wrong


def write_everywhere(by: Caller, deed: Deed) -> Iterator[Any]:
    """Yield the answers to the change, made three times, at three interfaces."""
    yield by.write(proposal(deed.urn, deed.aspect, deed.document(1)))
    entry = {"urn": deed.urn, deed.aspect: {"value": deed.document(2)}}
    yield by.post(f"/openapi/v3/entity/{deed.type}?async=false", [entry])
    if deed.type not in OF_PEOPLE:
        path, body = f"/api/v1/entities/{quote(deed.urn, safe='')}/", {"aspects": {deed.aspect: deed.document(3)}}
        yield by.client.patch(path, data=body, content_type="application/json")
