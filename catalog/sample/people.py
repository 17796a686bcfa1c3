"""People and groups of the sample company, as facts."""

from functools import cache

from catalog.sample.rules import Facts, load_data

COMPANY = load_data("people")
GROUPS: dict[str, Facts] = COMPANY["groups"]
PEOPLE: dict[str, Facts] = COMPANY["people"]
ROLES: dict[str, str] = COMPANY["roles"]


@cache
def list_members(group: str) -> tuple[str, ...]:
    """Return user names in a group: the head, the rest of the department, then guests from other departments."""
    names = [name for name, person in PEOPLE.items() if group in person["groups"]]
    return tuple(sorted(names, key=lambda name: PEOPLE[name]["groups"][0] != group))


def describe_person(key: str) -> Facts:
    """Return the facts of one person; `external` and `native` are group URNs by where the members come from."""
    person: Facts = {"is_active": True, **PEOPLE[key]}
    department = person["groups"][0]
    head = list_members(department)[0]
    first, _, last = person["name"].partition(" ")
    manager = COMPANY["chief"] if key == head else head
    return person | {
        "key": key,
        "first": first,
        "last": last,
        "department": GROUPS[department]["name"],
        "manager": "" if key == COMPANY["chief"] else manager,
        **{
            origin: [f"urn:li:corpGroup:{name}" for name in person["groups"] if GROUPS[name]["origin"] == origin]
            for origin in ("external", "native")
        },
    }
