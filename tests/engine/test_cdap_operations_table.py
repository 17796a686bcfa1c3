"""The table of CDAP's operations, against a transcription of the source document made by hand, row by row."""

import re

import pytest

from policies.engine.errors import UnknownOperation
from policies.engine.families import cdap, cdap_entity_ids, vocabulary

# Source 002, in its order. One line is one row: the operations as they are written there, with what they need: a
# privilege on the entity itself, or `privilege@relative`; `?` where it only counts when there is one; `->ALL` where the
# caller gets everything. The note of namespace/list overrides its column (CD-13), so it needs nothing.
TRANSCRIPTION = {
    "namespace": """
        create                       WRITE@instance ->ALL
        update                       ADMIN
        list                         nothing
        get                          READ
        delete                       ADMIN
        set preference               WRITE
        get preference               READ
        search                       READ""",
    "artifact": """
        add                          WRITE@namespace ->ALL
        delete                       ADMIN
        get                          READ
        list                         READ/WRITE/ADMIN
        write property               ADMIN
        delete property              ADMIN
        get property                 READ
        write metadata               ADMIN
        read metadata                READ""",
    "application": """
        deploy                       WRITE@namespace READ@artifact? ->ALL
        get                          READ
        list                         READ/WRITE/ADMIN
        update                       ADMIN
        delete                       ADMIN
        set preference               WRITE
        get preference               READ
        add metadata                 ADMIN
        get metadata                 READ""",
    "program": """
        start/stop/debug             EXECUTE READ@namespace
        set instances                ADMIN
        list                         READ/WRITE/ADMIN
        set runtime args             ADMIN
        get runtime args             READ
        get instances                READ
        set preference               WRITE
        get preference               READ
        get status                   READ
        get history                  READ
        add metadata                 ADMIN
        get metadata                 READ
        emit logs                    WRITE@namespace
        view logs                    READ
        emit metrics                 WRITE@namespace
        view metrics                 READ""",
    "stream": """
        create                       WRITE@namespace ->ALL
        update properties            ADMIN
        delete                       ADMIN
        truncate                     ADMIN
        enqueue/async enqueue/batch  WRITE READ@namespace
        get                          READ READ@namespace
        list                         READ/WRITE/ADMIN
        read events                  READ READ@namespace
        set preferences              WRITE
        get preferences              READ
        add metadata                 ADMIN
        get metadata                 READ
        view lineage                 READ
        emit metrics                 WRITE@namespace
        view metrics                 READ""",
    "dataset": """
        create                       WRITE@namespace ->ALL
        get                          READ READ@namespace
        list                         READ/WRITE/ADMIN
        update                       ADMIN READ@namespace
        drop                         ADMIN
        truncate                     ADMIN
        upgrade                      ADMIN
        add metadata                 ADMIN
        get metadata                 READ
        view lineage                 READ
        emit metrics                 WRITE@namespace
        view metrics                 READ""",
}


def transcribed() -> dict[str, tuple[list[str], bool]]:
    """Return operation → what it needs as written above, and whether it gives ALL."""
    found = {}
    for kind, rows in TRANSCRIPTION.items():
        for row in rows.strip().splitlines():
            names, needed = re.split(r"\s{2,}", row.strip(), maxsplit=1)
            words = needed.split()
            needs = [word for word in words if word not in ("->ALL", "nothing")]
            for name in names.split("/"):
                found[f"{kind}.{name.replace(' ', '_')}"] = (needs, "->ALL" in words)
    return found


def written(operation: cdap.CdapOperation) -> list[str]:
    """Return the needs of an operation in the words of the transcription."""
    return [
        "/".join(need.privileges)
        + ("" if need.relative == "self" else f"@{need.relative}")
        + ("?" if need.relative in operation.optional else "")
        for need in operation.needs
    ]


def test_every_row_of_the_source_is_in_the_table_and_no_other_cd_6():
    rows = vocabulary.read_table("cdap_operations")["row"]
    assert {f"{row['kind']}.{row['name']}" for row in rows} == set(transcribed())
    assert len(rows) == len(transcribed()) == 73


@pytest.mark.parametrize("name", sorted(transcribed()))
def test_needs_and_results_are_those_of_the_source(name: str):
    needs, gives_all = transcribed()[name]
    found = cdap.get_operation(name)
    assert written(found) == needs
    assert (found.effect is cdap.OperationEffect.CREATE) == gives_all


def test_rules_are_numbered_without_a_gap():
    rows = vocabulary.read_table("cdap_operations")["row"]
    assert [row["rule"] for row in rows] == [f"CD-{number}" for number in range(30, 103)]


@pytest.mark.parametrize(
    ("verb", "needs", "rule"),
    [
        ("create", ["WRITE@parent"], "CD-8"),
        ("delete", ["ADMIN"], "CD-9"),
        ("update", ["ADMIN"], "CD-9"),
        ("add_metadata", ["ADMIN"], "CD-9"),
        ("get", ["READ", "READ@parent"], "CD-10"),
        ("set_preference", ["WRITE"], "CD-11"),
        ("get_preference", ["READ"], "CD-11"),
        ("get_metadata", ["READ"], "CD-11"),
        ("list", ["READ/WRITE/ADMIN"], "CD-12"),
        ("delete_all", ["ADMIN"], "CD-14"),
    ],
)
def test_core_rules_hold_for_kinds_that_are_not_listed(verb: str, needs: list[str], rule: str):
    found = cdap.get_operation(f"secure_key.{verb}")
    assert (written(found), found.rule) == (needs, rule)


@pytest.mark.parametrize(
    ("name", "needs"),
    [
        ("artifact.get", ["READ"]),
        ("application.get", ["READ"]),
        ("namespace.get", ["READ"]),
        ("program.get", ["READ", "READ@parent"]),
        ("stream.update", ["ADMIN"]),
        ("dataset.delete", ["ADMIN"]),
        ("program.create", ["WRITE@parent"]),
        ("instance.get", ["READ"]),
    ],
)
def test_a_row_wins_over_the_core_rule_and_the_core_rule_fills_the_gaps_cd_6(name: str, needs: list[str]):
    assert written(cdap.get_operation(name)) == needs


@pytest.mark.parametrize(
    "name",
    [
        "",
        "dataset",
        "dataset.",
        ".get",
        "dataset.fly",
        "stream.set_prefs",
        "Dataset.get",
        "dataset.get.x",
        "dataset.emit_logs",
        "namespace.set_preferences",
        "tag.get",
        "data_product.get",
        "query.get",
        "dataHubPolicy.get",
        "no-kind.get",
        "instance.list_all",
        f"{'k' * 65}.get",
    ],
)
def test_any_other_name_is_unknown(name: str):
    with pytest.raises(UnknownOperation):
        cdap.get_operation(name)


def test_start_stop_and_debug_are_three_operations_with_one_rule_cd_21():
    assert len({cdap.get_requirement(f"program.{verb}") for verb in ("start", "stop", "debug")}) == 1
    assert len({cdap.get_requirement(f"stream.{verb}") for verb in ("enqueue", "async_enqueue", "batch")}) == 1


def test_the_artifact_counts_only_for_a_deployment_from_one_cd_47():
    assert cdap.get_requirement("application.deploy").relatives == {"namespace"}
    assert cdap.get_requirement("application.deploy", {"artifact"}).relatives == {"namespace", "artifact"}


def test_all_stands_for_the_four_and_no_privilege_gives_another_cd_2_cd_3():
    assert cdap.expand(["ALL"]) == ("READ", "WRITE", "EXECUTE", "ADMIN")
    assert cdap.expand(["ADMIN", "READ", "ADMIN", "nonsense"]) == ("READ", "ADMIN")
    assert all(cdap.load_vocabulary().widen([name]) == {name} for name in cdap.PRIVILEGES)


@pytest.mark.parametrize(
    ("urn", "kind", "above"),
    [
        ("urn:li:instance:cdap", "instance", []),
        ("urn:li:namespace:ns1", "namespace", ["urn:li:instance:cdap"]),
        ("urn:li:artifact:ns1.etl", "artifact", ["urn:li:namespace:ns1", "urn:li:instance:cdap"]),
        ("urn:li:stream:ns1.clicks", "stream", ["urn:li:namespace:ns1", "urn:li:instance:cdap"]),
        ("urn:li:secure_key:ns1.token", "secure_key", ["urn:li:namespace:ns1", "urn:li:instance:cdap"]),
        (
            "urn:li:program:ns1.orders.load",
            "program",
            ["urn:li:application:ns1.orders", "urn:li:namespace:ns1", "urn:li:instance:cdap"],
        ),
        (
            "urn:li:dataset:(urn:li:dataPlatform:cdap,ns1.sales,PROD)",
            "dataset",
            ["urn:li:namespace:ns1", "urn:li:instance:cdap"],
        ),
    ],
)
def test_what_an_entity_lies_in_follows_from_its_name_cd_1(urn: str, kind: str, above: list[str]):
    found = cdap_entity_ids.parse(urn)
    assert found is not None
    assert (found.urn, found.kind, list(found.ancestors)) == (urn, kind, above)


@pytest.mark.parametrize(
    "urn",
    [
        "",
        "urn:li:instance:other",
        "urn:li:namespace:a.b",
        "urn:li:namespace:",
        "urn:li:stream:clicks",
        "urn:li:stream:ns1.",
        "urn:li:stream:.clicks",
        "urn:li:stream:ns1.a b",
        "urn:li:stream:ns1.*",
        "urn:li:program:ns1.load",
        "urn:li:program:ns1.orders.v1.load",
        "urn:li:dataset:(urn:li:dataPlatform:hive,ns1.sales,PROD)",
        "urn:li:dataset:(urn:li:dataPlatform:cdap,sales,PROD)",
        "urn:li:dataset:(urn:li:dataPlatform:cdap,ns1.sales)",
        "urn:li:dataset:ns1.sales",
        "urn:li:tag:ns1.sales",
        "urn:li:dashboard:(looker,ns1.sales)",
        "urn:li:corpuser:first.last",
        "urn:li:dataHubRole:ns1.role",
        "urn:li:application:orders",
    ],
)
def test_what_names_no_cdap_entity_is_none(urn: str):
    assert cdap_entity_ids.parse(urn) is None


@pytest.mark.parametrize("kind", ["artifact", "application"])
def test_versions_share_one_name_and_so_one_grant_cd_20(kind: str):
    spelled = [f"urn:li:{kind}:ns1.etl{version}" for version in ("", ".1.0.0", ".2")]
    found = [cdap_entity_ids.parse(urn) for urn in spelled]
    assert {one.urn for one in found if one} == {f"urn:li:{kind}:ns1.etl"}


@pytest.mark.parametrize(
    ("urn", "prefix", "within"),
    [
        ("urn:li:stream:ns1.*", "urn:li:stream:ns1.", "urn:li:namespace:ns1"),
        ("stream:ns1.*", "urn:li:stream:ns1.", "urn:li:namespace:ns1"),
        ("urn:li:stream:ns1.cl*", "urn:li:stream:ns1.cl", "urn:li:namespace:ns1"),
        ("dataset:ns1.*", "urn:li:dataset:(urn:li:dataPlatform:cdap,ns1.", "urn:li:namespace:ns1"),
        ("urn:li:program:ns1.orders.*", "urn:li:program:ns1.orders.", "urn:li:application:ns1.orders"),
        ("urn:li:program:ns1.*", "urn:li:program:ns1.", "urn:li:namespace:ns1"),
        ("urn:li:namespace:dev*", "urn:li:namespace:dev", "urn:li:instance:cdap"),
        ("urn:li:secure_key:*", "urn:li:secure_key:", "urn:li:instance:cdap"),
    ],
)
def test_a_pattern_ends_in_one_asterisk_cd_5(urn: str, prefix: str, within: str):
    found = cdap_entity_ids.parse_pattern(urn)
    assert found is not None
    assert (found.prefix, found.container) == (prefix, within)


@pytest.mark.parametrize(
    "urn",
    [
        "urn:li:stream:ns1.clicks",
        "urn:li:stream:*.clicks",
        "urn:li:stream:n*s1.*",
        "urn:li:stream:ns1.**",
        "urn:li:*:ns1.*",
        "*",
        "urn:li:instance:*",
        "urn:li:namespace:a.*",
        "urn:li:stream:ns1.a.*",
        "urn:li:corpuser:*",
        "urn:li:tag:*",
        "urn:li:dataset:(urn:li:dataPlatform:hive,ns1.*,PROD)",
    ],
)
def test_what_is_no_pattern_is_none(urn: str):
    assert cdap_entity_ids.parse_pattern(urn) is None
