"""A snapshot that was changed answers as one built anew, and the old one is not touched."""

from hypothesis import given
from hypothesis import strategies as st

from policies.engine.snapshot import Snapshot
from tests import strategies
from tests.properties.asking import by_engine
from tests.worlds import World

EVERY_QUESTION = strategies.every_question()
NAMES = ["p0", "p1", "p2", "p3"]


@given(
    world=strategies.worlds(),
    edits=st.lists(st.tuples(st.sampled_from(NAMES), st.none() | strategies.policies()), min_size=1, max_size=6),
)
def test_replacing_one_by_one_equals_building_anew(world: World, edits: list[tuple[str, dict | None]]):
    current = dict(world.policies)
    snapshot, at_first = world.snapshot(), world.snapshot()
    for version, (name, raw) in enumerate(edits, start=2):
        current.pop(name, None)
        if raw is not None:
            current[name] = raw
        changed = world.having([] if raw is None else [(name, raw)])
        statements = changed.statements()[0][1] if raw is not None else ()
        snapshot = snapshot.replace(version, {f"urn:li:dataHubPolicy:{name}": statements})
    anew = world.having(current.items()).snapshot(snapshot.version)
    assert snapshot.version == len(edits) + 1
    assert snapshot.statements == anew.statements
    assert len(snapshot) == len(anew)
    untouched = world.snapshot()
    assert at_first.statements == untouched.statements
    for asked in EVERY_QUESTION:
        assert by_engine(snapshot, world, asked) == by_engine(anew, world, asked), asked
    for privilege in strategies.PRIVILEGES:
        assert snapshot.tested_fields([privilege]) == anew.tested_fields([privilege])
        assert snapshot.tested_subfields([privilege]) == anew.tested_subfields([privilege])


@given(world=strategies.worlds(), raw=strategies.policies())
def test_a_change_leaves_the_old_snapshot_as_it_was(world: World, raw: dict):
    old = world.snapshot()
    answers = [by_engine(old, world, asked) for asked in EVERY_QUESTION]
    statements = World(policies=[("p0", raw)]).statements()[0][1]
    old.replace(2, {"urn:li:dataHubPolicy:p0": statements, "urn:li:dataHubPolicy:p1": ()})
    assert [by_engine(old, world, asked) for asked in EVERY_QUESTION] == answers
    assert old.version == 1


@given(world=strategies.worlds())
def test_every_statement_is_found_again(world: World):
    compiled = [statement for _, statements in world.statements() for statement in statements]
    snapshot = Snapshot.build(7, world.statements())
    assert sorted(snapshot.statements, key=repr) == sorted(compiled, key=repr)
    assert snapshot.version == 7
