"""A naive judge of warehouse usage: reads grants, members and uses as plain sets, and follows the prose.

It shares no code with the product. It must never become clever. The prose is docs/grants-exports.md, "Usage".

A world is plain data, with one export:

    datasets   {name: "schema.table"}      tables are in schemas
    grants     {(role, object, level)}     object: a table "s1.t1" or a schema "s1"
    direct     {(user, table)}             members    {(role, user)}
    inherits   {(role, the role that it has)}
    declared   {(role, user)}, with opens  {(role, table)}
    uses       [(day, user, role or "", table, level)]
"""

# Plain loops are the point here: each step can be laid beside the sentence it follows.
# ruff: noqa: C901

from typing import Any

World = dict


def tables_of(world: World, name: str) -> set[str]:
    """Return the tables that a grant on an object reaches."""
    return {table for table in world["tables"] if table == name or table.startswith(f"{name}.")}


def roles_of(world: World, role: str) -> set[str]:
    """Return a role with every role that it has."""
    seen, waiting = {role}, [role]
    while waiting:
        now = waiting.pop()
        for holder, given in world["inherits"]:
            if holder == now and given not in seen:
                seen.add(given)
                waiting.append(given)
    return seen


def judge(world: World) -> dict[str, Any]:
    """Return unused grants, direct grants and memberships, undeclared uses, and what each role needs.

    That is the level for each role and table; a grant for reading alone allows no write.
    """
    end = max(day for day, *_ in world["uses"])
    uses = [use for use in world["uses"] if use[0] >= end - world["days"]]
    reach: dict[str, dict[str, int]] = {}
    for role, name, level in world["grants"]:
        for table in tables_of(world, name):
            reach.setdefault(role, {})[table] = max(level, reach.get(role, {}).get(table, 0))
    used_tables: dict[str, dict[str, int]] = {}
    used_direct: set[tuple[str, str]] = set()
    used_by: dict[str, set[str]] = {}
    users_of: dict[str, set[str]] = {}
    relied: set[tuple[str, str, str]] = set()

    def mark(role: str, table: str, level: int) -> None:
        levels = used_tables.setdefault(role, {})
        levels[table] = max(levels.get(table, 0), level)

    for _, user, named, table, level in uses:
        by_name = {role for role in (roles_of(world, named) if named else ()) if table in reach.get(role, {})}
        held = {given for role, who in world["members"] if who == user for given in roles_of(world, role)}
        by_role = {role for role in held if table in reach.get(role, {})}
        # Direct grants are for reading.
        is_own = (user, table) in world["direct"]
        if any(reach[role][table] >= level for role in by_name):
            hits = by_name
        elif any(reach[role][table] >= level for role in by_role) or (is_own and level == 1):
            hits = by_role
            if is_own:
                used_direct.add((user, table))
        else:
            # Nothing that is known lets them: by this nothing was used.
            hits = set()
        users_of.setdefault(table, set()).add(user)
        for role in hits:
            relied.add((role, user, table))
            mark(role, table, level)
            used_by.setdefault(user, set()).add(role)

    # Of a role that nobody is known to hold, what others used may have been used by it.
    held_by_any = {given for role, _ in world["members"] for given in roles_of(world, role)}
    uncertain = {
        role
        for role, tables in reach.items()
        if role not in held_by_any
        and any((role, user, table) not in relied for table in tables for user in users_of.get(table, ()))
    }
    unused_grants = {
        (role, name)
        for role, name, _ in world["grants"]
        if role not in uncertain
        and tables_of(world, name)
        and not tables_of(world, name) & set(used_tables.get(role, {}))
    }
    unused_members = set()
    for role, user in world["members"]:
        given_roles = roles_of(world, role)
        opens = any(reach.get(given) for given in given_roles)
        if opens and not given_roles & used_by.get(user, set()):
            unused_members.add((role, user))
    opened = {table for _, table in world["opens"]}
    undeclared = {
        (user, table)
        for _, user, _, table, _ in uses
        if table in opened
        and not any((role, user) in world["declared"] for role, name in world["opens"] if name == table)
    }
    allowed_after = {role: set(used_tables.get(role, {})) & set(tables) for role, tables in reach.items()}
    for role in uncertain:
        allowed_after[role] = set(reach[role])
        used_tables[role] = dict(reach[role])
    needed = {
        (role, table): min(used_tables[role][table], reach[role][table])
        for role, tables in allowed_after.items()
        for table in tables
    }
    losses = set()
    for role, tables in reach.items():
        for user in world["people"]:
            held = {given for name, who in world["members"] if who == user for given in roles_of(world, name)}
            lost = set()
            for table in set(tables) - allowed_after[role]:
                elsewhere = any(table in reach.get(other, {}) for other in held - {role})
                if role in held and not elsewhere and (user, table) not in world["direct"]:
                    lost.add(table)
            if lost:
                losses.add((role, user, len(lost)))
    return {
        "grants": unused_grants,
        "direct": {pair for pair in world["direct"] if pair not in used_direct},
        "members": unused_members,
        "undeclared": undeclared,
        "after": needed,
        "losses": losses,
    }
