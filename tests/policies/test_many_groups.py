"""Groups of one person are written by statements about all of them, however many there are."""

import time

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from policies.aspects import services as aspect_services
from policies.aspects.services import AspectChange
from policies.identity.services import people_writer, users
from policies.models import ChangeEvent, GroupProfile, Membership
from policies.pdp import authorizer
from policies.writes.unit_of_work import open_unit_of_work

DOOR = "test"
ANN = "urn:li:corpuser:ann"
GROUP_COUNT = 4_000
#: Processor time of one write; a second on a machine that does nothing else.
MAX_SECONDS = 1.0


@pytest.fixture
def urns(db: None) -> list[str]:
    users.create(username="ann", by=authorizer.SYSTEM, channel=DOOR)
    with open_unit_of_work(by=authorizer.SYSTEM, channel=DOOR) as uow:
        groups = [people_writer.build_group(identifier=f"g{number}", by=uow.by) for number in range(GROUP_COUNT)]
        people_writer.store(groups, facts_before={group.urn: None for group in groups}, uow=uow)
    return [group.urn for group in groups]


def write_groups(urns: list[str]) -> tuple[float, int]:
    """Write them as those of Ann; return the processor time and the number of statements."""
    change = AspectChange(ANN, "corpuser", "groupMembership", {"groups": urns})
    started_at = time.process_time()
    with CaptureQueriesContext(connection) as statements:
        aspect_services.apply(changes=[change], by=authorizer.SYSTEM, channel=DOOR)
    return time.process_time() - started_at, len(statements)


def test_many_groups_are_written_as_fast_as_few(urns: list[str]) -> None:
    few = write_groups(urns[: GROUP_COUNT // 10])
    native_count = ChangeEvent.objects.filter(object_urn__startswith="urn:li:corpGroup:", verb="UPDATED").count()
    assert native_count == GROUP_COUNT // 10
    changed, unchanged = write_groups(urns), write_groups(urns)
    assert Membership.objects.filter(user__urn=ANN, is_external=True).count() == GROUP_COUNT
    assert set(GroupProfile.objects.values_list("origin", flat=True)) == {GroupProfile.Origin.EXTERNAL}
    assert unchanged[0] < MAX_SECONDS, (few, changed, unchanged)
    assert changed[0] < 4 * MAX_SECONDS, (few, changed, unchanged)
    # Rows, and the events that follow from them, are stored some hundreds at a time.
    assert unchanged[1] <= few[1] <= changed[1] < 150, (few, changed, unchanged)
