"""Any document goes through every step of the builder and comes back as it was."""

import json
from itertools import count

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policies.authoring.queries import policies as policy_queries
from policies.authoring.services.policies import create
from policies.authoring.services.policy_drafts import PolicyInput
from policies.pdp import authorizer
from tests import strategies
from tests.web.conftest import DOOR
from tests.web.policies.writing import BASE, Builder

_TIMES = st.sampled_from([None, 10**11, 1764547200123, "2026-12-01T00:00Z", "2026-12-01T01:00:00.123456+02:00"])
_MORE = st.fixed_dictionaries(
    {},
    optional={
        "effect": st.sampled_from([None, "ALLOW", "DENY"]),
        "validFrom": _TIMES,
        "validUntil": st.sampled_from([None, 32503680000000, "2999-12-01T00:00:00+01:00"]),
    },
)
_EXCLUSIONS = st.fixed_dictionaries(
    {},
    optional={
        key: st.sampled_from([None, [], values[:1], [*values, *values]])
        for key, values in {
            "excludedUsers": ["urn:li:corpuser:otto", "urn:li:corpuser:two\nlines", "urn:li:corpuser: padded "],
            "excludedGroups": ["urn:li:corpGroup:interns"],
            "excludedRoles": [f"urn:li:dataHubRole:{number}" for number in range(40)],
            "excludedResourceOwnersTypes": ["urn:li:ownershipType:x"],
        }.items()
    },
)

_numbers = count()


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(raw=strategies.documents(), more=_MORE, exclusions=_EXCLUSIONS)
def test_a_document_comes_back_as_it_was(browse, world, raw, more, exclusions):
    document = raw | more | {"actors": (raw.get("actors") or {}) | exclusions}
    urn = f"urn:li:dataHubPolicy:trip-{next(_numbers)}"
    create(draft=PolicyInput("datahub", document), urn=urn, by=authorizer.SYSTEM, channel=DOOR)
    stored_document = policy_queries.get_policy(urn=urn).document
    builder = Builder(browse("root"), f"{BASE}/edit/{urn}")
    for go in ("2", "3", "2", "1", "3"):
        builder.press(go)
        assert builder.response.status_code == 200
    assert json.dumps(builder.response.context["work"].draft.document) == json.dumps(stored_document)
    assert builder.response.context["is_dirty"] is False
