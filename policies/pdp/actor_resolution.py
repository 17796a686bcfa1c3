"""Actors with their groups and roles, read from the database at every call."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from sys import intern

from policies.engine.model import Actor
from policies.models import documents
from policies.models.fields import filter_storable
from policies.models.prepared_statements import PreparedStatement
from policies.pdp.shared_sets import make_set

#: Common table expressions of a statement about actors, whose parameter is the list of their URNs.
ACTOR_TABLES = """
    actor AS MATERIALIZED (
        SELECT asked.number, person.id, person.state, person.is_removed, person.email, person.extra
        FROM {numbered} JOIN policies_user person ON person.urn = asked.urn),
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
    SELECT 'actor' AS kind, number, CASE WHEN state = 'ACTIVE' AND NOT is_removed THEN 'active' ELSE '' END AS first,
        email AS second, extra AS third, '' AS fourth FROM actor
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


def read_actors(urns: Sequence[str], rows: Iterable[ActorRow]) -> dict[str, Actor]:
    """Return the actors with these URNs from the rows of a statement that was asked for them.

    Roles are the user's own and those of its groups, one hop (rules/datahub.md a.2). A removed group and its roles do
    not count; a suspended or removed user is inactive. Attributes come from `documents.actor_attributes`. A user that
    has no row is an actor without groups and roles.
    """
    groups: list[list[str]] = [[] for _ in urns]
    roles: list[list[str]] = [[] for _ in urns]
    users: dict[int, tuple[bool, frozenset[tuple[str, str]]]] = {}
    ends: dict[int, dict[str, list[datetime]]] = {}
    for kind, number, first, second, third, _ in rows:
        if kind == "actor" and number is not None:
            attributes = documents.actor_attributes(second, third)
            users[number - 1] = first == "active", attributes or make_set(())
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
    unknown_user = True, make_set(())
    return {
        urn: Actor(
            urn,
            make_set(groups[index]),
            make_set(roles[index]),
            *users.get(index, unknown_user),
            _find_last_ends(ends[index], [*groups[index], *roles[index]]) if index in ends else (),
        )
        for index, urn in enumerate(urns)
    }


def _find_last_ends(ends: Mapping[str, list[datetime]], urns: Sequence[str]) -> tuple[tuple[str, datetime], ...]:
    """Return the last end of each group or role, if every way to it, of which `urns` has one entry each, ends."""
    return tuple((urn, max(known_ends)) for urn, known_ends in ends.items() if len(known_ends) == urns.count(urn))


def _read_instant(text: str) -> datetime:
    """Return the time of a column as text: SQLite has it in UTC without saying so."""
    instant = datetime.fromisoformat(text)
    return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)
