"""A naive judge of Datazone questions: reads raw documents and follows the rules, step by step.

It shares no code with the product, and must never become clever. Rules: rules/datazone.md, cited as "DZ-n".

A world is plain data, its people as in `tests.oracle`:

    users, suspended, groups, memberships, roles
    objects        {urn: {"type": str, "id": 24 hexadecimal digits or None, "project": object id or None}}

Policies are pairs (id, document) with the published shape {"name", "statements", "roles"}. A question is a dictionary
of `actor`, `action`, and of the resource `urn`, or `type` with `project` (to make one); `branch`, `columns` and `path`
may be None.
"""

# Plain loops and long ladders are the point here: each step can be laid beside the rule it follows.
# ruff: noqa: C901

COMMON = ["read", "write", "delete", "create", "execute", "manage"]
UNVERSIONED = ["user", "role", "api_key", "compute", "variable"]
OTHER_NAMES = {"corpuser": "user", "dataHubRole": "role"}


def authorize(world, policies, question):
    """Answer a question: {"allowed", "code", "because": [(policy, index)], "slices": None or [...]}."""
    actor = question["actor"]
    if actor in world["suspended"]:
        return answer(False, "actor_suspended")
    allows = []
    denies = []
    for identifier, document in policies:
        held = [role for role in document.get("roles") or [] if role in roles_of(world, actor)]
        if not held:  # DZ-2
            continue
        for index, statement in enumerate(document["statements"]):
            if matches(world, statement, question):
                entry = (identifier, index, statement, held)
                if statement["effect"] == "deny":
                    denies.append(entry)
                else:
                    allows.append(entry)
    if denies:  # DZ-37
        return answer(False, "explicit_deny", denies)
    if not allows:  # DZ-3
        return answer(False, "implicit_deny")
    slices = slices_of(allows)
    return narrowed(question, allows, slices)


def answer(allowed, code, entries=(), slices=None):
    because = sorted((identifier, index) for identifier, index, _, _ in entries)
    return {"allowed": allowed, "code": code, "because": because, "slices": slices}


def what(world, policies, actor, action):
    """Every object that the actor may use the action on (on main), sorted."""
    return sorted(
        urn
        for urn in world["objects"]
        if authorize(world, policies, {"actor": actor, "action": action, "urn": urn})["allowed"]
    )


# ---- Who ----


def roles_of(world, actor):
    """Roles held directly and those of the actor's groups (DZ-2)."""
    held = []
    groups = [group for user, group in world["memberships"] if user == actor]
    for holder, role in world["roles"]:
        if holder == actor or holder in groups:
            held.append(role)
    return held


# ---- Which statements match ----


def matches(world, statement, question):
    """Resource, action and branch must all match (DZ-38)."""
    target = target_of(world, question)
    return (
        branch_of(target, question) == (statement.get("branch") or "main")
        and any(action_matches(listed, question["action"]) for listed in statement["actions"])
        and covers(statement["resource"], target)
    )


def target_of(world, question):
    """What the question is about: the server's own record of an object, or a type to be made (DZ-23, DZ-36)."""
    if question.get("urn") is None:
        return {"making": True, "type": question["type"], "id": None, "project": question.get("project")}
    known = world["objects"].get(question["urn"]) or unknown(world, question["urn"])
    kind = OTHER_NAMES.get(known["type"], known["type"])
    return {"making": False, "type": kind, "id": known["id"], "project": known["project"]}


def unknown(world, urn):
    """An object nobody registered: its URN may be made of its id (api.md), and it is in no project."""
    kind, key = urn.split(":")[2], urn.split(":", 3)[3]
    is_id = len(key) == 24 and all(digit in "0123456789abcdef" for digit in key)
    is_taken = any(one["type"] == kind and one["id"] == key for one in world["objects"].values())
    return {"type": kind, "id": key if is_id and not is_taken else None, "project": None}


def branch_of(target, question):
    """DZ-41, DZ-43."""
    if target["type"] in UNVERSIONED:
        return "main"
    return question.get("branch") or "main"


def action_matches(listed, asked):
    """DZ-31 to DZ-33: equal, a wildcard, or manage for the common six."""
    kind, _, verb = listed.partition(":")
    asked_kind, _, asked_verb = asked.partition(":")
    if kind not in ("*", asked_kind):
        return False
    if verb in ("*", asked_verb):
        return True
    return verb == "manage" and asked_verb in COMMON


def covers(pattern, target):
    """Section 3."""
    parts = pattern.lower().split(":")
    if parts == ["*"]:  # DZ-15
        return True
    if len(parts) == 1:  # DZ-16
        return target["making"] and target["type"] == parts[0]
    if len(parts) == 2 and parts[1] == "*":  # DZ-17
        return not target["making"] and target["type"] == parts[0] and target["id"] is not None
    if len(parts) == 2:  # DZ-18, DZ-19
        return not target["making"] and target["type"] == parts[0] and target["id"] == parts[1]
    if target["project"] != parts[1] or target["type"] == "project":
        return False
    if parts[2] == "*":  # DZ-20
        return True
    if target["type"] != parts[2]:
        return False
    if parts[3] == "*":  # DZ-21
        return True
    return not target["making"] and target["id"] == parts[3]  # DZ-22


# ---- What restrictions leave ----


def slices_of(allows):
    """One slice for each role through which something is allowed: restrictions of a role stack (DZ-55)."""
    by_role: dict[str, list] = {}
    for _, _, statement, held in allows:
        for role in held:
            by_role.setdefault(role, []).append(statement.get("extra_constraints") or {})
    return [slice_of(role, stacked) for role, stacked in sorted(by_role.items())]


def slice_of(role, stacked):
    rows = []
    paths = []
    columns = None
    for constraints in stacked:
        for row in constraints.get("row_level_restrictions") or []:
            if row not in rows:
                rows.append(row)
        if constraints.get("path_prefix") is not None:
            paths.append(constraints["path_prefix"].rstrip("/"))
        listed = constraints.get("column_level_restrictions")
        if listed is not None:
            names = {name.lower() for name in listed}
            columns = names if columns is None else columns & names
    return {"role": role, "rows": sorted(rows), "columns": columns, "paths": sorted(set(paths))}


def narrowed(question, allows, slices):
    """DZ-56, DZ-57, DZ-59, DZ-65 to DZ-67."""
    seen = [one for one in slices if one["columns"] is None or len(one["columns"]) > 0]
    if not seen:
        return answer(False, "no_columns", allows)
    if question.get("path") is not None and not is_plain(question["path"]):
        return answer(False, "path_not_allowed", allows)
    if question.get("path") is not None:
        seen = [
            reached for reached in (along(one, question["path"].rstrip("/")) for one in seen) if reached is not None
        ]
        if not seen:
            return answer(False, "path_not_allowed", allows)
    if any(is_free(one) for one in seen):
        return answer(True, "allowed", allows)
    if question.get("columns") is not None:
        wanted = {name.lower() for name in question["columns"]}
        seen = [one | {"columns": wanted if one["columns"] is None else one["columns"] & wanted} for one in seen]
        seen = [one for one in seen if len(one["columns"]) > 0]
        if not seen:
            return answer(False, "no_columns", allows)
    return answer(True, "allowed", allows, different(seen))


def is_free(one):
    return one["rows"] == [] and one["columns"] is None and one["paths"] == []


def along(one, path):
    """What is left of a slice at a path: without paths it is not limited by them; outside of all it is gone."""
    if one["paths"] == []:
        return one
    for prefix in one["paths"]:
        if path == prefix or path.startswith(prefix + "/"):
            return one | {"paths": []}
    return None


def is_plain(path):
    parts = path.removesuffix("/").split("/")
    return "\\" not in path and all(part not in ("", ".", "..") for part in parts)


def different(slices):
    """Equal slices once, under the first role (DZ-61)."""
    kept: list[dict] = []
    for one in slices:
        if not any(all(other[key] == one[key] for key in ("rows", "columns", "paths")) for other in kept):
            kept.append(one)
    return kept


# ---- Rows ----


def visible(slices, rows, holds):
    """The rows shown, cell by cell: {column: value} with None where a cell may not be seen (DZ-56).

    `holds(condition, row)` says whether one row meets a condition. Slices None shows everything.
    """
    if slices is None:
        return [dict(row) for row in rows]
    listed = [
        name for name in rows[0] if any(one["columns"] is None or name.lower() in one["columns"] for one in slices)
    ]
    found = []
    for row in rows:
        accepting = [one for one in slices if all(holds(condition, row) for condition in one["rows"])]
        if accepting:
            found.append(
                {
                    name: row[name]
                    if any(one["columns"] is None or name.lower() in one["columns"] for one in accepting)
                    else None
                    for name in listed
                }
            )
    return found
