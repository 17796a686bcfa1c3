"""`manage.py why` and `manage.py refresh_policies`."""

import pytest
from django.core.cache import cache
from django.core.management import CommandError, call_command

from policies.models import PolicyVersion
from policies.pdp import policy_change_events

DATASET = "urn:li:dataset:(urn:li:dataPlatform:hive,orders,PROD)"


def why(capsys, *arguments: str) -> tuple[int, str]:
    code = 0
    try:
        call_command("why", *arguments)
    except SystemExit as ended:
        code = int(ended.code or 0)
    return code, capsys.readouterr().out


def test_an_allow_ends_with_zero_and_names_the_policy(world, capsys):
    code, text = why(capsys, "datahub", "MANAGE_POLICIES")
    assert code == 0
    assert text.startswith("ALLOW: DataHub, MANAGE_POLICIES\n")
    assert "urn:li:dataHubPolicy:0" in text


def test_a_deny_ends_with_one_and_names_what_came_closest(world, capsys):
    code, text = why(capsys, "urn:li:corpuser:otto", "EDIT_ENTITY_TAGS", DATASET)
    assert code == 1
    assert text.startswith(f"DENY: Otto Outsider, EDIT_ENTITY_TAGS on {DATASET}\n")
    assert "lacking: " in text
    assert "judged by its URN and type alone" in text


def test_tags_that_are_touched_count(world, write, capsys):
    constraint = {"privilegeConstraints": {"criteria": [{"field": "URN", "values": ["urn:li:tag:quality"]}]}}
    write("quality", actors={"users": ["urn:li:corpuser:otto"]}, resources=constraint)
    question = ("otto", "EDIT_ENTITY_TAGS", DATASET, "--touching", "urn:li:tag:quality")
    assert why(capsys, *question)[0] == 0
    assert why(capsys, *question, "urn:li:tag:pii")[0] == 1


def test_unknown_names_are_helped(world, capsys):
    code, text = why(capsys, "ott", "EDIT_TAGS")
    assert code == 1
    assert "Did you mean EDIT_ENTITY_TAGS" in text
    assert "Did you mean urn:li:corpuser:otto?" in text


@pytest.mark.parametrize(
    ("arguments", "problems"),
    [
        (["urn:li:corpGroup:crew", "A"], ["user name"]),
        (["", "A"], ["user name"]),
        (["otto", ""], ["privilege"]),
        (["otto", "A", "orders", "--touching", "pii"], ["'orders' is not a URN", "'pii' is not a URN"]),
        (["otto", "A\x00"], ["cannot be stored"]),
        (["otto", "A", "urn:\ud800"], ["cannot be stored"]),
    ],
)
def test_a_question_that_cannot_be_asked_ends_with_two_and_names_every_problem(world, arguments, problems):
    with pytest.raises(CommandError) as refused:
        call_command("why", *arguments)
    assert refused.value.returncode == 2
    assert all(problem in str(refused.value) for problem in problems)


def test_refreshing_prints_the_version_and_has_the_workers_compare(world, capsys):
    cache.delete(policy_change_events.REFRESH_QUEUED_KEY)
    call_command("refresh_policies")
    version = PolicyVersion.load_version()
    assert capsys.readouterr().out.strip() == str(version)
    assert cache.get(policy_change_events.REFRESH_QUEUED_KEY) is True
