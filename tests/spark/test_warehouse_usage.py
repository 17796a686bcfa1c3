"""Warehouse usage in a small world: what was used, what was not, and what is proposed.

Each case has a copy of the tables, of which all have the same roles and people, and one job judges them all.
"""

from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.spark.drift_world import PII, World, dataset, group, role, user
from tests.spark.usage_world import Tables, UsageCases

pytestmark = [pytest.mark.spark, pytest.mark.drawn(2, "usage")]

GRANTS = """
object_type | object | privilege | grantee_type | grantee
table  | db.s.a   | SELECT    | role | reader
table  | db.s.b   | SELECT    | role | reader
table  | db.s.c   | SELECT    | role | writer
table  | db.s.c   | INSERT    | role | writer
table  | db.s.pii | SELECT    | role | idle
table  | db.s.a   | SELECT    | role | idle
table  | db.s.b   | SELECT    | role | idle
table  | db.s.a   | SELECT    | user | carl
table  | db.s.b   | OWNERSHIP | role | admin
table  | db.t.x   | SELECT    | role | admin
schema | db.u     | SELECT    | role | wide
role   | reader   | MEMBER    | role | chief
role   | reader   | MEMBER    | user | ann
role   | reader   | MEMBER    | user | bob
role   | writer   | MEMBER    | user | dora
role   | chief    | MEMBER    | user | eve
role   | idle     | MEMBER    | user | finn
role   | idle     | MEMBER    | user | ann
role   | wide     | MEMBER    | user | gil
"""
USES = (
    "2025-01-01,ann,,db.s.a,SELECT",
    # Exactly ninety days before the end counts; a moment earlier does not.
    "2025-02-28T00:00:00Z,eve,,db.s.b,SELECT",
    "2025-02-27T23:59:59Z,finn,,db.s.pii,SELECT",
    "2025-04-01,dora,writer,db.s.c,SELECT",
    "2025-04-02,ann,reader,db.s.a,SELECT",
    "2025-04-03,gil,,db.u.one,SELECT",
    "2025-05-01,zoe,,db.nowhere.z,SELECT",
    "2025-05-29,dora,,db.s.c,SELECT",
)
TAKE = 'REVOKE ROLE "{}" FROM USER "{}";'
NO_USE = "Its history has no use of a table that the catalog knows."


CASES = UsageCases()


def add_people(world: World) -> None:
    for name in ("ann", "bob", "dora", "eve", "finn", "carl", "gil"):
        world.person(name)
    holders = {"reader": ["ann", "bob"], "writer": ["dora"], "chief": ["eve"], "idle": ["finn", "ann"], "wide": ["gil"]}
    for name, people in holders.items():
        world.entity(role(f"w_{name}"), ROLE_USER=[user(one) for one in people])


def add(case: str, *uses: str, **export: Any) -> None:
    """Add the grants and these uses, with tables that the catalog has for this case."""
    opening = {"s.a": ["reader"], "s.b": ["reader", "chief"], "s.c": ["writer"], "s.pii": ["idle"], "t.x": []}
    opening |= {"u.one": ["wide"], "u.two": ["wide"]}
    for name, roles in opening.items():
        tags = [PII] if name == "s.pii" else []
        CASES.add_dataset(case, f"db.{name}", TAG=tags, ACCESS_ROLE=[role(f"w_{one}") for one in roles])
    CASES.world.csv(f"{case}/grants.csv", GRANTS)
    lines = "".join(f"{use}\n" for use in uses)
    CASES.world.files[f"{case}/usage.csv"] = f"used_at,user,role,object,privilege\n{lines}"
    described = {
        "form": "csv",
        "role_prefix": "w_",
        "grants": ["grants.csv"],
        "usage": ["usage.csv"],
        "ignored_roles": ["admin"],
    }
    CASES.add_export(case, **described | export)


@pytest.fixture(scope="module")
def judged(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tables]:
    return CASES.judge(spark, tmp_path_factory.mktemp("usage"), days=90)


add_people(CASES.world)

YOUNG = """
CREATED_ON | PRIVILEGE | GRANTED_ON | NAME | TABLE_CATALOG | TABLE_SCHEMA | GRANTED_TO | GRANTEE_NAME
2025-02-28 01:00:00.000 +0100 | SELECT | TABLE | A | DB | S | ROLE | READER
2025-02-27 15:59:59.000 -0800 | SELECT | TABLE | B | DB | S | ROLE | READER
2025-05-01 09:00:00.000 Z     | SELECT | TABLE | PII | DB | S | ROLE | READER
2020-01-01 09:00:00.000 Z     | SELECT | TABLE | C | DB | S | ROLE | WRITER
no time                       | SELECT | TABLE | X | DB | T | USER | CARL
2025-05-20 09:00:00.000 +0000 | SELECT | TABLE | C | DB | S | USER | CARL
"""
YOUNG_MEMBERS = """
CREATED_ON | ROLE | GRANTED_TO | GRANTEE_NAME
2025-05-28 00:00:00.000 Z | READER | USER | ANN
2024-05-28 00:00:00.000 Z | READER | USER | BOB
2024-05-28 00:00:00.000 Z | WRITER | USER | DORA
"""


add("young", form="snowflake", members=["members.csv"])
CASES.world.csv("young/grants.csv", YOUNG)
CASES.world.csv("young/members.csv", YOUNG_MEMBERS)
CASES.world.files["young/usage.csv"] = (
    "query_start_time,user_name,direct_objects_accessed,base_objects_accessed,objects_modified\n"
    + "".join(
        f'{day},DORA,"[{{""objectDomain"":""Table"",""objectName"":""DB.S.C""}}]",[],[]\n'
        for day in ("2025-01-01", "2025-05-29")
    )
)


def test_a_grant_that_is_younger_than_the_days_is_not_called_unused(judged: dict[str, Tables]) -> None:
    found = judged["young"]
    states = {(row["grantee"], row["object"]): row["state"] for row in found["grants"]}
    assert states == {
        # Granted when the ninety days began, and a second before.
        ("READER", "DB.S.A"): "YOUNG",
        ("READER", "DB.S.B"): "UNUSED",
        ("READER", "DB.S.PII"): "YOUNG",
        ("WRITER", "DB.S.C"): "USED",
        ("CARL", "DB.T.X"): "UNUSED",
        ("CARL", "DB.S.C"): "YOUNG",
    }
    held = {(row["held"], row["person"].rpartition(":")[2]): row["state"] for row in found["memberships"]}
    assert held == {("READER", "ann"): "YOUNG", ("READER", "bob"): "UNUSED", ("WRITER", "dora"): "USED"}
    assert sorted(row["sentence"].split(",")[0] for row in found["findings"]) == [
        "BOB holds READER and used nothing that it opens in the 90 days until 2025-05-29.",
        "CARL has READ on DB.T.X",
        "READER has READ on DB.S.B",
    ]
    actions = [(row["action"], row["grantee"], row["object"]) for row in found["proposals"]]
    assert sorted(actions) == [
        ("KEEP", "READER", "DB.S.A"),
        ("KEEP", "READER", "DB.S.PII"),
        ("REVOKE", "READER", "DB.S.B"),
    ]
    # Of each holder's three datasets, what is young stays.
    assert {(row["person"].rpartition(":")[2], row["tables"]) for row in found["losses"]} == {("ann", 1), ("bob", 1)}


add("used", *USES)


def test_what_was_used_and_what_was_not(judged: dict[str, Tables]) -> None:
    found = judged["used"]
    ends = "in the 90 days until 2025-05-29."
    assert sorted((row["severity"], row["type"], row["sentence"], row["repair"]) for row in found["findings"]) == [
        ("LOW", "UNUSED_GRANT", f"ann holds idle and used nothing that it opens {ends}", TAKE.format("idle", "ann")),
        (
            "LOW",
            "UNUSED_GRANT",
            f"bob holds reader and used nothing that it opens {ends}",
            TAKE.format("reader", "bob"),
        ),
        (
            "LOW",
            "UNUSED_GRANT",
            "carl has READ on db.s.a, which nobody used by it in the 90 days until 2025-05-29 (used by others: 1).",
            'REVOKE SELECT ON TABLE "db"."s"."a" FROM USER "carl";',
        ),
        ("LOW", "UNUSED_GRANT", f"finn holds idle and used nothing that it opens {ends}", TAKE.format("idle", "finn")),
        (
            "MEDIUM",
            "UNUSED_GRANT",
            f"idle has 3 grants that nobody used {ends}",
            "\n".join(f'REVOKE SELECT ON TABLE "db"."s"."{name}" FROM ROLE "idle";' for name in ("a", "b", "pii")),
        ),
    ]
    assert [(row["grantee"], row["object"], row["used"], row["tables"], row["last"]) for row in found["grants"]] == [
        ("carl", "db.s.a", 0, 1, None),
        ("idle", "db.s.a", 0, 1, None),
        ("idle", "db.s.b", 0, 1, None),
        ("idle", "db.s.pii", 0, 1, None),
        ("reader", "db.s.a", 1, 1, "2025-04-02 00:00"),
        # By a role that has the role.
        ("reader", "db.s.b", 1, 1, "2025-02-28 00:00"),
        ("wide", "db.u", 1, 2, "2025-04-03 00:00"),
        ("writer", "db.s.c", 1, 1, "2025-05-29 00:00"),
    ]
    assert {(row["held"], row["person"].rpartition(":")[2], row["state"]) for row in found["memberships"]} == {
        ("idle", "ann", "UNUSED"),
        ("idle", "finn", "UNUSED"),
        ("reader", "bob", "UNUSED"),
        ("reader", "ann", "USED"),
        ("chief", "eve", "USED"),
        ("wide", "gil", "USED"),
        ("writer", "dora", "USED"),
    }
    assert [(row["grantee"], row["action"], row["object"], row["repair"]) for row in found["proposals"]] == [
        ("idle", "REVOKE", "db.s.a", 'REVOKE SELECT ON TABLE "db"."s"."a" FROM ROLE "idle";'),
        ("idle", "REVOKE", "db.s.b", 'REVOKE SELECT ON TABLE "db"."s"."b" FROM ROLE "idle";'),
        ("idle", "REVOKE", "db.s.pii", 'REVOKE SELECT ON TABLE "db"."s"."pii" FROM ROLE "idle";'),
        ("wide", "GRANT", "db.u.one", 'GRANT SELECT ON TABLE "db"."u"."one" TO ROLE "wide";'),
        ("wide", "REVOKE", "db.u", 'REVOKE SELECT ON SCHEMA "db"."u" FROM ROLE "wide";'),
        # Written to never, only read.
        ("writer", "NARROW", "db.s.c", 'REVOKE INSERT ON TABLE "db"."s"."c" FROM ROLE "writer";'),
    ]
    # Ann keeps what she reaches as a reader, too.
    assert [(row["grantee"], row["person"].rpartition(":")[2], row["tables"]) for row in found["losses"]] == [
        ("idle", "finn", 3),
        ("idle", "ann", 1),
        ("wide", "gil", 1),
    ]
    assert [(row["rule"], row["count"], row["sample"]) for row in found["passed"]] == [
        ("unknown_table", 1, "zoe db.nowhere.z")
    ]
    (export,) = found["exports"]
    assert [export[name] for name in ("rows", "compared", "passed", "quarantined", "gap")] == [8, 7, 1, 0, None]


GAPS = {
    # The first use is of the second of March.
    "short": "Its history covers 88 of 90 days.",
    "unreadable": "Some rows of its history could not be read, and each of them may be a use.",
    "of other tables": NO_USE,
    "empty": NO_USE,
    "none": "It names no history of access.",
}
add("short", "2025-03-02,ann,,db.s.a,SELECT", *USES[3:])
add("unreadable", *USES, "garbled")
add("of other tables", "2025-01-01,zoe,,db.nowhere.z,SELECT", "2025-05-29,zoe,,db.nowhere.z,SELECT")
add("empty")
add("none", usage=[])


@pytest.mark.parametrize("case", GAPS)
def test_a_history_with_a_gap_calls_nothing_unused(judged: dict[str, Tables], case: str) -> None:
    found = judged[case]
    assert [(row["gap"], row["platform"]) for row in found["exports"]] == [(GAPS[case], "snowflake")]
    assert [row for row in found["findings"] if row["type"] == "UNUSED_GRANT"] == []
    assert found["proposals"] == found["losses"] == []
    assert {row["state"] for row in (*found["grants"], *found["memberships"])} <= {"USED", "NOT_SEEN"}


STRANGE = (
    # Some role of the catalog opens these, and not to them; the table t.x is opened by none.
    "2025-05-01,carl,,db.s.a,SELECT",
    "2025-05-01,zoe,,db.s.pii,SELECT",
    "2025-05-02,zoe,,db.s.a,SELECT",
    "2025-05-03,zoe,,db.s.b,SELECT",
    "2025-05-04,zoe,,db.t.x,SELECT",
    # What an ignored role does, and what lies before the days.
    "2025-05-04,nora,admin,db.s.b,SELECT",
    "2025-02-01,nora,,db.s.b,SELECT",
    "2025-05-05,bob,,db.s.c,SELECT",
)
add("strange", *USES, *STRANGE)
CASES.world.person("zoe", "shoppers")
CASES.world.policy(
    "open shop",
    privileges=["VIEW_ENTITY_PAGE"],
    actors={"users": [user("carl")], "groups": [group("shoppers")]},
    resources={"filter": {"criteria": [{"field": "URN", "values": [dataset("snowflake", "strange.db.s.a")]}]}},
)
# Another privilege than to view it.
CASES.world.policy("clerks", privileges=["EDIT_ENTITY_TAGS"], actors={"users": [user("bob"), user("zoe")]})


def test_used_without_a_role_of_the_catalog(judged: dict[str, Tables]) -> None:
    found = judged["strange"]
    undeclared = [row for row in found["findings"] if row["type"] == "UNDECLARED_USE"]
    rows = [(row["severity"], row["actor"], row["sentence"], row["members"]) for row in undeclared]
    assert sorted(rows, key=lambda row: row[1], reverse=True) == [
        (
            "CRITICAL",
            user("zoe"),
            "zoe used 3 datasets without a role of the catalog that opens them, the last on 2025-05-03. "
            "Policies let them view 1 of these in the catalog, and no role mapping gives them.",
            3,
        ),
        (
            "HIGH",
            user("carl"),
            "carl used db.s.a on 2025-05-01 without a role of the catalog that opens it. "
            "The policy open shop lets them view it in the catalog, and no role mapping gives it.",
            None,
        ),
        (
            "HIGH",
            user("bob"),
            "bob used db.s.c on 2025-05-05 without a role of the catalog that opens it. "
            "No policy lets them view it in the catalog either.",
            None,
        ),
    ]
    # What others do is no use of a grant that they do not hold.
    grants = {(row["grantee"], row["object"]): row for row in found["grants"]}
    assert [grants["idle", "db.s.pii"][name] for name in ("state", "people", "others")] == ["UNUSED", 0, 1]
    sentences = [row["sentence"] for row in found["findings"] if row["type"] == "UNUSED_GRANT"]
    assert "idle has 3 grants that nobody used in the 90 days until 2025-05-29." in sentences
    assert {row["state"] for row in found["memberships"] if row["held"] == "idle"} == {"UNUSED"}
