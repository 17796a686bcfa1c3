"""A naive judge of deny policies of Google Cloud: asks for each person whether a rule stands before him.

It shares no code with the product. It must never become clever. The prose is docs/grants-exports.md, "BigQuery".

A world is plain data. People, groups, service accounts and everybody are names such as `user:u1`, `group:g2`,
`serviceAccount:s0` and `allUsers`:

    places    {project: [itself, and the folders and organization that it is in]}
    grants    [(place, holder, level)]: on a project, or on a folder or organization
    inside    {group: [who is in it by the files or the catalog]}
    rules     [{"place", "denied", "exempt", "takes"}]: `takes` are the levels whose permissions it denies all
"""

# Plain loops are the point here: each step can be laid beside the sentence it follows.
# ruff: noqa: C901

World = dict


def judge(world: World) -> set[tuple[str, str, int]]:
    """Return (project, holder, level) of the grants by which somebody gets at the tables of the project."""
    inside = world["inside"]

    def all_in(group: str) -> set[str]:
        """Return everybody in a group, at any depth."""
        seen: set[str] = set()
        waiting = [group]
        while waiting:
            for one in inside.get(waiting.pop(), []):
                if one not in seen:
                    seen.add(one)
                    waiting.append(one)
        return seen

    def is_among(one: str, names: list[str]) -> bool:
        """Whether names have this one, a group that he is in, or everybody."""
        return any(name in (one, "everybody") or one in all_in(name) for name in names)

    def list_readers(holder: str) -> set[str]:
        """Return who has what this holder has; a group itself stands for those in it whom nothing names."""
        if holder == "allUsers":
            return {"allUsers", *world["people"], *inside}
        return {holder} | all_in(holder)

    def is_stopped(one: str, project: str, level: int) -> bool:
        return any(
            rule["place"] in world["places"][project]
            and level in rule["takes"]
            and is_among(one, rule["denied"])
            and not is_among(one, rule["exempt"])
            for rule in world["rules"]
        )

    return {
        (project, holder, level)
        for project, places in world["places"].items()
        for place, holder, level in world["grants"]
        if place in places and any(not is_stopped(one, project, level) for one in list_readers(holder))
    }
