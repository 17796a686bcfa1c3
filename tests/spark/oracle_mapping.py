"""A naive judge of role mappings: reads what is declared and what is granted as plain sets, and follows the prose.

It shares no code with the product. It must never become clever. The prose is docs/grants-exports.md, "Findings".

A world is plain data, with one export:

    datasets   {name: is sensitive}        declared   {role: {"level": 1, 2, 3 or None, "users", "groups", "opens"}}
    users      {name: may act}             in_groups  [(user, group)]
    grants     [(role, dataset, level)]    inherits   [(role, the role that it has)]
    members    [(role, user)]              direct     [(user, dataset, level)]
    exists     [role]                      ignored    [role]
    ended      [(role, dataset, level)]

A grant that has ended counts as not there.

A renamed role is compared as if its new name were another name of it. Findings are (type, severity, role, dataset,
user, through which role), '' for what does not apply; of a renamed role the last is its new name.
"""

# Plain loops are the point here: each step can be laid beside the sentence it follows.
# ruff: noqa: C901

World = dict
Finding = tuple[str, str, str, str, str, str]


def judge(world: World) -> set[Finding]:
    """Return everything that differs."""
    found: set[Finding] = set()
    declared = world["declared"]
    there = set(world["exists"])
    for role, _, _ in world["grants"]:
        there.add(role)
    for role, given in world["inherits"]:
        there |= {role, given}
    for role, _ in world["members"]:
        there.add(role)

    def below(role: str) -> set[str]:
        """Return every role that this one has."""
        seen: set[str] = set()
        waiting = [role]
        while waiting:
            now = waiting.pop()
            for one, given in world["inherits"]:
                if one == now and given not in seen and given != role:
                    seen.add(given)
                    waiting.append(given)
        return seen

    def worst(dataset: str) -> str:
        return "CRITICAL" if world["datasets"][dataset] else "HIGH"

    def lost(role: str) -> set[str]:
        """Return the datasets that a role should open and does not."""
        opened = {what for one, what, _ in world["grants"] if one == role or one in below(role)}
        return set(declared[role]["opens"]) - opened

    def taken_over(role: str, other: str) -> set[str]:
        """Return the lost datasets that the other role opens as the first should."""
        level = declared[role]["level"]
        highest = {
            what: max(two for one, to, two in world["grants"] if (one, to) == (other, what)) for what in has[other]
        }
        return {what for what in lost(role) & has[other] if level in (None, highest[what])}

    has = {role: {what for one, what, _ in world["grants"] if one == role} for role in there}
    strangers = [role for role in there if role not in declared and role not in world["ignored"]]
    choices = []
    for role in declared:
        for other in strangers:
            same = len(taken_over(role, other))
            if same >= 3 and 10 * same >= 9 * len(set(declared[role]["opens"])):
                choices.append((-same / len(set(declared[role]["opens"])), len(has[other]), role, other))
    old_names: dict[str, str] = {}
    for _, _, role, other in sorted(choices):
        if role not in old_names.values() and other not in old_names:
            old_names[other] = role
            found.add(("ROLE_RENAMED", "MEDIUM", role, "", "", other))

    def called(role: str) -> str:
        return old_names.get(role, role)

    # Who has what through which role, by the names that roles have there.
    given = {(called(role), called(one), one) for role in there for one in below(role) if called(role) != called(one)}
    given_grants = world["grants"]
    world = {
        **world,
        "grants": [(called(role), dataset, level) for role, dataset, level in world["grants"]],
        "members": [(called(role), user) for role, user in world["members"]],
    }
    there = {called(role) for role in there}

    for role in there | set(declared):
        says = declared.get(role)
        through: dict[str, set[str]] = {}
        for dataset in world["datasets"]:
            own = [level for one, what, level in world["grants"] if one == role and what == dataset]
            others = [
                (name, level)
                for holder, _, name in given
                for one, what, level in given_grants
                if says and holder == role and one == name and what == dataset
            ]
            levels = own + [level for _, level in others]
            via = "" if own else min((one for one, _ in others), default="")
            is_said = bool(says) and dataset in says["opens"]
            if is_said and not levels:
                if role in there:
                    found.add(("GRANT_MISSING", "MEDIUM", role, dataset, "", ""))
            elif is_said and says["level"] and max(levels) != says["level"]:
                severity = worst(dataset) if max(levels) > says["level"] else "MEDIUM"
                # What is wrong comes from where the level is highest.
                highest = min((name for name, level in others if level == max(levels)), default="")
                found.add(("WRONG_LEVEL", severity, role, dataset, "", "" if max(levels) in own else highest))
            elif levels and not is_said and role not in world["ignored"]:
                if via:
                    through.setdefault(via, set()).add(dataset)
                else:
                    found.add(("EXTRA_GRANT", worst(dataset), role, dataset, "", ""))
        for via, datasets in through.items():
            severity = "CRITICAL" if any(world["datasets"][one] for one in datasets) else "HIGH"
            found.add(("EXTRA_GRANT", severity, role, "", "", via))

    for role, says in declared.items():
        if role not in there:
            found.add(("ROLE_GONE", "HIGH", role, "", "", ""))
        if not says["opens"]:
            found.add(("ROLE_WITHOUT_DATASETS", "LOW", role, "", "", ""))
        should = set(says["users"]) | {user for user, group in world["in_groups"] if group in says["groups"]}
        should = {user for user in should if world["users"][user]}
        for user in world["users"]:
            held = {one for one, who in world["members"] if who == user}
            through_others = {one for one in held for holder, below_it, _ in given if (holder, below_it) == (one, role)}
            strange = [one for one in through_others if one not in declared and one not in world["ignored"]]
            if user in should and role not in held and not through_others and role in there:
                found.add(("MEMBER_MISSING", "MEDIUM", role, "", user, ""))
            if user not in should and role not in world["ignored"] and (role in held or strange):
                found.add(("EXTRA_MEMBER", "HIGH", role, "", user, "" if role in held else min(strange)))

    for dataset, is_sensitive in world["datasets"].items():
        if is_sensitive and not any(dataset in says["opens"] for says in declared.values()):
            found.add(("SENSITIVE_WITHOUT_ROLE", "HIGH", "", dataset, "", ""))
    for user, dataset, _ in world["direct"]:
        found.add(("DIRECT_USER_GRANT", worst(dataset), "", dataset, user, ""))
    return found


def roll_up(found: set[Finding]) -> list[tuple[str, str, str, str, str, str, int]]:
    """Return the findings, each with 0, or with their number where three or more are of one type and about one thing.

    That is a role, else a person who has grants, else the schema of a dataset.
    """
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in found:
        kind, _, role, dataset, user, _ = finding
        groups.setdefault((kind, role or user or dataset.rpartition(".")[0]), []).append(finding)
    rolled = []
    for (kind, _), findings in groups.items():
        if len(findings) < 3:
            rolled += [(*finding, 0) for finding in findings]
            continue
        severity = next(one for one in ("CRITICAL", "HIGH", "MEDIUM", "LOW") if one in [two for _, two, *_ in findings])
        role, user = findings[0][2], findings[0][4] if kind == "DIRECT_USER_GRANT" else ""
        rolled.append((kind, severity, role, "", user, "", len(findings)))
    return rolled
