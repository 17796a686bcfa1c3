"""Giving and taking privileges, on one entity or on all whose URN begins alike (rules/cdap.md CD-18, CD-19)."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from django.utils import timezone

from catalog import urns as urn_room
from catalog.access import coverage_sql, grant_source
from catalog.access.grant_coverage_sql import instance_administrators, is_instance_administrator
from catalog.access.grant_source import Grant
from catalog.cdap import grant_queries
from catalog.models import Entity
from policies.engine.errors import Problem
from policies.engine.families import cdap, cdap_entity_ids
from policies.engine.families.cdap_entity_ids import INSTANCE_URN, Pattern
from policies.engine.model import Actor, Missing
from policies.engine.requirements import one
from policies.errors import Conflict, Forbidden, Invalid
from policies.models import Verb
from policies.models.people import NAME_LENGTH
from policies.pdp import authorizer
from policies.pdp.authorizer import Ask, Asked
from policies.writes.unit_of_work import Change, change

#: Longest list that one call may give or take.
MOST = 1000

#: How far what a pattern stands for is counted, and how much of it is named.
_COUNTED = 1000
_SAMPLE = 5

_UNKNOWN = "entity.unknown"


@dataclass(frozen=True, slots=True)
class Sent:
    """A grant to give or to take, as it was sent: `privileges` may say ALL, None is every one that is held.

    `is_confirmed` lets the last ADMIN of an entity fall to the instance administrators.
    """

    principal: str
    entity: str
    privileges: tuple[str, ...] | None = None
    is_confirmed: bool = False


@dataclass(frozen=True, slots=True)
class Reach:
    """What a pattern stands for now: how many entities (`is_more`: and further ones), and what the first are called."""

    pattern: str
    count: int
    is_more: bool
    names: tuple[str, ...]


def give(*, sent: Sequence[Sent], by: Actor, door: str) -> list[Grant]:
    """Add to what principals hold, all or nothing; return what was given, in order.

    Needs ADMIN on each entity, or to administer the instance. Raises Forbidden with everything that is missing, and
    Invalid for principals and entities that are not there (places are `/<index>/<field>`).
    """
    with change(by=by, door=door) as doing:
        listed = _checked(sent, by=by)
        _give(listed, by=by, doing=doing)
    return listed


def take(*, sent: Sequence[Sent], by: Actor, door: str) -> None:
    """Take privileges away, all or nothing; what is not held is no problem. Needs and raises what `give` does.

    An entity must not be left without anybody who holds ADMIN: raises Conflict unless that is confirmed, and then its
    ADMIN falls to the instance administrators (CD-19). What the settings give cannot be taken away (CD-18).
    """
    with change(by=by, door=door) as doing:
        listed = _checked(sent, by=by)
        _refuse_settings(listed)
        before = grant_source.held(pairs=_pairs(listed))
        losing = _losing(listed, before)
        grant_source.take(grants=listed)
        orphans = grant_source.without_administrator(urns=losing)
        unconfirmed = sorted(orphans & _losing(listed, before, [one.is_confirmed for one in sent]))
        if unconfirmed:
            raise Conflict(_last(unconfirmed))
        _record(before, doing=doing)
        _hand_over(sorted(orphans), by=by, doing=doing)


def listed(*, entity: str, principal: str, by: Actor) -> grant_source.Listed:
    """Return the grants that an actor may see: those on entities it holds ADMIN on, all for who administers the
    instance. Raises Forbidden when the actor may not see those of the entity that is named.
    """
    name = _spelled(entity) if entity else ""
    if is_all := _may_grant_anywhere(by):
        rows = Entity.objects.all()
    else:
        rows = coverage_sql.covered(authorizer.visible(actor=by, privilege=cdap.ADMIN))
    patterns = grant_source.patterns(entity=name, principal=principal)
    if not is_all:
        lacking = {one.entity for one in _missing([name, *patterns] if name else patterns, by=by)}
        if name in lacking and name:
            raise Forbidden((Missing(name, cdap.ADMIN),))
        patterns = [urn for urn in patterns if urn not in lacking]
    if name:
        rows = rows.filter(urn__among=[name])
    shows_instance = name in ("", INSTANCE_URN) and (is_all or not _missing([INSTANCE_URN], by=by))
    is_limited = bool(name) or not is_all
    return grant_source.Listed(
        entities=rows if is_limited else None, patterns=patterns, principal=principal, with_instance=shows_instance
    )


def reach(*, pattern: Pattern, by: Actor) -> Reach:
    """Return what a pattern stands for now. Raises Forbidden unless the actor may give privileges on it."""
    if not _may_grant_anywhere(by) and (missing := _missing([pattern.urn], by=by)):
        raise Forbidden(missing)
    count, names = grant_queries.stands_for(pattern=pattern, sample=_SAMPLE, limit=_COUNTED + 1)
    return Reach(pattern.urn, min(count, _COUNTED), count > _COUNTED, tuple(names))


def grantable(*, urns: Collection[str], by: Actor) -> frozenset[str]:
    """Return those of the entities and patterns on which the actor may give and take privileges."""
    if _may_grant_anywhere(by):
        return frozenset(urns)
    return frozenset(urns) - {one.entity for one in _missing(sorted(urns), by=by)}


@contextmanager
def handed_over(*, urn: str, doing: Change) -> Iterator[None]:
    """Let the ADMIN of a user, group or role that cannot act any more fall to the instance administrators (CD-19).

    A hook of every change that ends somebody (settings.DEPARTURE_HOOKS): what nobody else administers is handed over as
    by a revoke that was confirmed.
    """
    losing = grant_source.administered(holder=urn)
    yield
    _hand_over(sorted(grant_source.without_administrator(urns=losing)), by=doing.by, doing=doing)


def _checked(sent: Sequence[Sent], *, by: Actor) -> list[Grant]:
    """Return what was sent as it is stored. Who may not grant learns nothing about what there is."""
    if len(sent) > MOST:
        raise Invalid.one(code="list.too_long", pointer="", detail=f"At most {MOST} grants may be sent at once.")
    found = [Grant(one.principal, _spelled(one.entity), cdap.expand(one.privileges or (cdap.ALL,))) for one in sent]
    if not _may_grant_anywhere(by) and (missing := _missing([one.entity for one in found], by=by)):
        raise Forbidden(missing)
    if problems := _problems(found):
        raise Invalid(problems)
    return found


def _spelled(entity: str) -> str:
    """Return an entity without a version (CD-20), and a pattern as its URN."""
    if (pattern := cdap_entity_ids.pattern(entity)) is not None:
        return pattern.urn
    name = cdap_entity_ids.read(entity)
    return entity if name is None else name.urn


def _may_grant_anywhere(by: Actor) -> bool:
    return by.urn == authorizer.SYSTEM.urn or is_instance_administrator(by)


def _missing(urns: Sequence[str], *, by: Actor) -> tuple[Missing, ...]:
    asks = [Ask(one(cdap.ADMIN), Asked(urn, urn_room.type_of(urn))) for urn in dict.fromkeys(urns)]
    return authorizer.missing_many(by=by, asks=asks) if asks else ()


def _problems(found: Sequence[Grant]) -> list[Problem]:
    principals = grant_source.principals(urns=[one.principal for one in found])
    patterns = {one.entity: cdap_entity_ids.pattern(one.entity) for one in found}
    places = {pattern.within if pattern is not None else urn for urn, pattern in patterns.items()}
    known = set(Entity.objects.filter(urn__among=places).order_by().values_list("urn", flat=True))
    known -= {urn for urn in known if urn_room.type_of(urn) in urn_room.PEOPLE_TYPES}
    problems: list[Problem] = []
    for index, grant in enumerate(found):
        if grant.principal not in principals:
            detail = f"There is no user, group or role {grant.principal}."
            problems.append(Problem(_UNKNOWN, f"/{index}/principal", detail))
        pattern = patterns[grant.entity]
        place = grant.entity if pattern is None else pattern.within
        if place not in known and not (pattern is not None and place == INSTANCE_URN):
            problems.append(Problem(_UNKNOWN, f"/{index}/entity", f"There is no entity {place}."))
    return problems


def _refuse_settings(found: Sequence[Grant]) -> None:
    admins = instance_administrators()
    if named := [one.principal for one in found if one.entity == INSTANCE_URN and one.principal in admins]:
        raise Conflict(f"The settings make {named[0]} an administrator of the instance; it cannot be taken away here.")


def _losing(
    found: Sequence[Grant], before: dict[tuple[str, str], tuple[str, ...]], is_left_out: Sequence[bool] = ()
) -> frozenset[str]:
    """Return the entities on which somebody is about to lose ADMIN, those a pattern stands for among them.

    Entities that a grant of `is_left_out` names are left out.
    """
    flags = is_left_out or [False] * len(found)
    losing: set[str] = set()
    confirmed: set[str] = set()
    for grant, is_out in zip(found, flags, strict=True):
        if cdap.ADMIN not in grant.privileges or cdap.ADMIN not in before[grant.principal, grant.entity]:
            continue
        pattern = cdap_entity_ids.pattern(grant.entity)
        urns = [grant.entity] if pattern is None else grant_source.covered_by(pattern=pattern)
        (confirmed if is_out else losing).update(urns)
    return frozenset(losing - confirmed)


def _last(urns: Sequence[str]) -> str:
    more = f" and {len(urns) - 1} more" if len(urns) > 1 else ""
    return (
        f"Nobody would hold ADMIN on {urns[0]}{more}. "
        'With "confirm": true it falls to the administrators of the instance.'
    )


def _hand_over(orphans: Sequence[str], *, by: Actor, doing: Change) -> None:
    """Give ADMIN on these to those instance administrators that have an account, a group or a role here."""
    heirs = sorted(grant_source.principals(urns=instance_administrators()))
    _give([Grant(heir, urn, (cdap.ADMIN,)) for urn in orphans for heir in heirs], by=by, doing=doing)


def _give(found: Sequence[Grant], *, by: Actor, doing: Change) -> None:
    before = grant_source.held(pairs=_pairs(found))
    grant_source.give(grants=found, by=by.urn, at=timezone.now())
    _record(before, doing=doing)


def _record(before: Mapping[tuple[str, str], tuple[str, ...]], *, doing: Change) -> None:
    """Note for each principal and entity what was held and what is held now, where that differs."""
    after = grant_source.held(pairs=before.keys())
    for (principal, entity), held in before.items():
        if after[principal, entity] != held:
            said = [{"principal": principal, "privileges": list(one)} for one in (held, after[principal, entity])]
            name = entity[:NAME_LENGTH]
            doing.record(urn=entity, name=name, verb=Verb.UPDATED, before=said[0], after=said[1])


def _pairs(found: Iterable[Grant]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((one.principal, one.entity) for one in found))
