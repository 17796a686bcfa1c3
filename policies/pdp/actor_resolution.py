"""Actors with their groups and roles, read from the database at every call."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from sys import intern

from policies.engine.model import Actor
from policies.models import GroupProfile, Tombstone, User, documents
from policies.models.fields import filter_storable
from policies.models.people import GROUP_PREFIX
from policies.models.prepared_statements import PreparedStatement
from policies.pdp.shared_sets import make_set

#: Common table expressions of a statement about actors, whose parameter is the list of their URNs.
ACTOR_TABLES = """
    asked_actor AS MATERIALIZED (SELECT asked.number, asked.urn FROM {numbered}),
    actor AS MATERIALIZED (
        SELECT asked_actor.number, person.id, person.state, person.is_removed, person.email, person.extra
        FROM asked_actor JOIN policies_user person ON person.urn = asked_actor.urn),
    actors_group AS MATERIALIZED (
        SELECT profile.group_id, profile.urn, member.numbers
        FROM (SELECT membership.group_id, {join}(CAST(actor.number AS text) || CASE
                  WHEN membership.valid_until IS NULL OR membership.is_external THEN ''
                  ELSE '@' || CAST(membership.valid_until AS text) END, ',') AS numbers
              FROM actor JOIN policies_membership membership ON membership.user_id = actor.id
              GROUP BY membership.group_id) member
        JOIN policies_groupprofile profile ON profile.group_id = member.group_id
        WHERE NOT profile.is_removed)"""

#: Rows about them: what a row says, the number of the actor, and four texts (`read_actors`). A row about a group or a
#: role names all the actors that it is about, each with the end of its membership after an @ if it has one; the third
#: text of a role is the end of its assignment.
ACTOR_ROWS = """
    SELECT 'actor' AS kind, number, CASE WHEN is_removed THEN 'removed' ELSE state END AS first,
        email AS second, extra AS third, '' AS fourth FROM actor
    UNION ALL
    SELECT 'deleted', asked_actor.number, '', '', '', ''
    FROM asked_actor JOIN policies_tombstone tombstone ON tombstone.urn = asked_actor.urn
    UNION ALL
    SELECT 'group', NULL, urn, numbers, '', '' FROM actors_group
    UNION ALL
    SELECT 'role', NULL, role.urn, CAST(actor.number AS text), COALESCE(CAST(assignment.valid_until AS text), ''), ''
    FROM actor JOIN policies_roleassignment assignment ON assignment.user_id = actor.id
    JOIN policies_role role ON role.id = assignment.role_id
    UNION ALL
    SELECT 'role', NULL, role.urn, actors_group.numbers, COALESCE(CAST(assignment.valid_until AS text), ''), ''
    FROM actors_group JOIN policies_roleassignment assignment ON assignment.group_id = actors_group.group_id
    JOIN policies_role role ON role.id = assignment.role_id"""

_STATEMENT = PreparedStatement(f"WITH {ACTOR_TABLES} {ACTOR_ROWS}")

#: State in a row of a user that its `status` aspect removes.
_REMOVED = "removed"

#: A row about actors: its kind, the number of the actor if it is about one, and four texts.
ActorRow = tuple[str, int | None, str, str, str, str]


def load_actor(*, urn: str) -> Actor:
    """Return the actor with its groups and roles (one query); an unknown user is an actor without either."""
    return load_actors(urns=[urn])[urn]


def load_actors(*, urns: Collection[str]) -> dict[str, Actor]:
    """Return an actor for each URN (one query, whatever their number), as `read_actors`."""
    storable_urns = filter_storable(urns)
    actors = read_actors(storable_urns, _STATEMENT.fetch_rows([storable_urns]))
    return {urn: actors[urn] if urn in actors else Actor(urn) for urn in urns}


def find_removed_holders(*, urns: Collection[str]) -> frozenset[str]:
    """Return those of these groups and roles that were removed or deleted: nobody is in them; at most two queries."""
    storable_urns = filter_storable(urns)
    groups = [urn for urn in storable_urns if urn.startswith(GROUP_PREFIX)]
    removed_groups = GroupProfile.objects.filter(urn__among=groups, is_removed=True).order_by()
    return Tombstone.find(storable_urns) | (
        frozenset(removed_groups.values_list("urn", flat=True)) if groups else frozenset()
    )


def read_actors(urns: Sequence[str], rows: Iterable[ActorRow]) -> dict[str, Actor]:
    """Return the actors with these URNs from the rows of a statement that was asked for them.

    Roles are the user's own and those of its groups, one hop (rules/datahub.md a.2). A removed group and its roles do
    not count; a suspended, removed or deleted user is inactive. Attributes come from `documents.actor_attributes`. A
    user that was never registered is an actor without groups and roles.
    """
    groups: list[list[str]] = [[] for _ in urns]
    roles: list[list[str]] = [[] for _ in urns]
    users: dict[int, tuple[str, frozenset[tuple[str, str]]]] = {}
    deleted_indexes: set[int] = set()
    ends: dict[int, dict[str, list[datetime]]] = {}
    for kind, number, first, second, third, _ in rows:
        if kind == "actor" and number is not None:
            attributes = documents.actor_attributes(second, third)
            users[number - 1] = first, attributes or make_set(())
        elif kind == "deleted" and number is not None:
            deleted_indexes.add(number - 1)
        else:
            urn, lists = intern(first), groups if kind == "group" else roles
            for member in second.split(","):
                end = ""
                if "@" in member:
                    member, end = member.split("@")
                lists[int(member) - 1].append(urn)
                if end or third:
                    known_ends = ends.setdefault(int(member) - 1, {})
                    known_ends.setdefault(urn, []).append(min(_read_instant(text) for text in (end, third) if text))
    actors = {}
    for index, urn in enumerate(urns):
        unknown_state = _REMOVED if index in deleted_indexes else User.State.ACTIVE
        state, attributes = users.get(index) or (unknown_state, make_set(()))
        last_ends = _find_last_ends(ends[index], [*groups[index], *roles[index]]) if index in ends else ()
        is_active, is_removed = state == User.State.ACTIVE, state == _REMOVED
        actors[urn] = Actor(
            urn, make_set(groups[index]), make_set(roles[index]), is_active, attributes, last_ends, is_removed
        )
    return actors


def _find_last_ends(ends: Mapping[str, list[datetime]], urns: Sequence[str]) -> tuple[tuple[str, datetime], ...]:
    """Return the last end of each group or role, if every way to it, of which `urns` has one entry each, ends."""
    return tuple((urn, max(known_ends)) for urn, known_ends in ends.items() if len(known_ends) == urns.count(urn))


def _read_instant(text: str) -> datetime:
    """Return the time of a column as text: SQLite has it in UTC without saying so."""
    instant = datetime.fromisoformat(text)
    return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)
