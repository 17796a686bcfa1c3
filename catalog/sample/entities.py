"""Every entity of the sample company as metadata change proposals, in the order of the file.

A third of the proposals is mixed on purpose, children before parents, because real ingestion runs arrive like that.
Groups come before their members, policies at the end.
"""

from collections.abc import Iterator

from catalog.sample import people, roles, tables
from catalog.sample.proposals import describe_tags, propose
from catalog.sample.rules import Facts, draw, fill, holds, load_data, pick, word_name

ASSETS = load_data("assets")
POLICIES = load_data("policies")
MIXED_SHARE = 3


def list_proposals() -> list[Facts]:
    """Return every proposal in the order of the file; a date stands for epoch milliseconds."""
    described = [*list_datasets(), *list_assets(), *list_accesses()]
    early = len(described) // MIXED_SHARE
    mixed = [*list_vocabulary(), *described[:early]]
    mixed.sort(key=lambda proposal: draw(f"order/{proposal['entityUrn']}/{proposal['aspectName']}"))
    return [*list_people(), *mixed, *described[early:], *list_policies()]


def list_people() -> Iterator[Facts]:
    """Yield groups first, then people, then who is in which group and who holds which role."""
    for key, group in people.GROUPS.items():
        yield from propose("group", {"key": key, "lead": people.list_members(key)[0]} | group)
    persons = [people.describe_person(key) for key in people.PEOPLE]
    for kind in ("person", "member"):
        for person in persons:
            yield from propose(kind, person)
    for holder, role in people.ROLES.items():
        yield from propose("role_holder", {"holder": holder, "role": role})


def list_vocabulary() -> Iterator[Facts]:
    """Yield the words that data is sorted by, from domains to platforms."""
    for kind, entries in load_data("vocabulary").items():
        for key, entry in entries.items():
            yield from propose(kind, {"key": key, "team": ""} | entry)


def list_datasets() -> Iterator[Facts]:
    """Yield datasets; containers come with the first table that stands in them."""
    yielded_urns: set[str] = set()
    for table in tables.list_tables():
        for container in tables.list_containers(table):
            if container["container"] not in yielded_urns:
                yielded_urns.add(container["container"])
                yield from propose("container", container)
        yield from propose("dataset", table | {"fields": list(tables.list_fields(table))})
        yield from propose("placement", table)
        yield from propose("handling", table)
    for record in tables.LAYERS["twins"]:
        child, parent = (tables.find_table("core", record, region) for region in ("us", "eu"))
        yield from propose("twin", child | {"parent": parent["dataset"]})


def list_assets() -> Iterator[Facts]:
    """Yield pipelines, then dashboards with their charts, then queries and products."""
    for name, area in tables.AREAS.items():
        yield from propose("flow", area)
        for record in tables.list_records(name):
            ends = {layer: tables.find_table(layer, record["record"])["dataset"] for layer in ("raw", "core")}
            yield from propose("job", record | ends)
    for key, dashboard in ASSETS["dashboards"].items():
        yield from _list_dashboard({"key": key} | dashboard)
    for name in tables.AREAS:
        for kind in ASSETS["kinds"]:
            tool = pick(ASSETS["tools"], f"tool/{name}/{kind}")
            title = f"{word_name(name)} {kind}"
            yield from _list_dashboard({"key": f"{name}.{kind}", "tool": tool, "area": name, "title": title})
    core = [table for table in tables.list_tables() if holds({"layer": "core", "instance": "eu"}, table)]
    for number, table in enumerate(core[::2], start=1):
        yield from propose("query", _describe_query(number, table))
    for key, product in ASSETS["products"].items():
        rule = {"platform": "snowflake", "instance": "eu", "layer": product["layer"], "area": product["area"]}
        assets = [table["dataset"] for table in tables.list_tables() if holds(rule, table)]
        entries = [{"destinationUrn": urn, "outputPort": True} for urn in assets]
        lead = people.list_members(product["team"])[0]
        yield from propose("product", product | {"key": key, "assets": entries, "lead": lead})


def _list_dashboard(facts: Facts) -> Iterator[Facts]:
    key, tool = facts["key"], facts["tool"]
    rule = {"area": facts["area"], "layer": ["mart", "reporting"]}
    sources = [table for table in tables.list_tables() if holds(rule, table)]
    sources = sorted(sources, key=lambda table: draw(f"chart/{key}/{table['dataset']}"))[:4]
    charts = {f"urn:li:chart:({tool},{key}.{number})": table for number, table in enumerate(sources, start=1)}
    area = tables.AREAS[facts["area"]]
    members = people.list_members(area["team"])
    contents = {
        "edges": [{"destinationUrn": chart} for chart in charts],
        "editor": pick(members, f"changed/{key}"),
        "tags": describe_tags(facts.get("tags", [])),
    }
    yield from propose("dashboard", facts | area | contents)
    for chart, table in charts.items():
        choices = {
            "type": pick(ASSETS["chart_types"], f"type/{chart}"),
            "editor": pick(members, f"changed/{chart}"),
            "maker": pick(people.list_members("bi-analysts")[2:4], f"maker/{chart}"),
        }
        yield from propose("chart", table | choices | {"chart": chart, "tool": tool})


def _describe_query(number: int, table: Facts) -> Facts:
    urn, key, area = f"urn:li:query:fernweh-{number:03}", table["columns"][0], table["area"]
    others = [
        tables.find_table("core", record["record"])
        for record in tables.list_records(area)
        if record["record"] != table["record"] and record["key"] in table["columns"]
    ][:1]
    sql = f"SELECT count(DISTINCT {key}) FROM {table['full_name']}"  # noqa: S608  # shown on a page, run by nobody
    for other in others:
        sql += f" JOIN {other['full_name']} USING ({other['columns'][0]})"
    subjects = [table["dataset"], *(other["dataset"] for other in others)]
    if number % 10 == 0:
        subjects.append(f"urn:li:schemaField:({table['dataset']},{key.upper()})")
    entries = [{"entity": subject} for subject in subjects]
    author = pick(people.list_members(table["team"]), f"query/{urn}")
    return table | {"query": urn, "sql": sql, "author": author, "subjects": entries}


def list_accesses() -> Iterator[Facts]:
    """Yield roles with their members first, then the roles of each table."""
    for role in roles.list_roles():
        yield from propose("role", role)
    for table in tables.list_tables():
        entries = [{"urn": urn} for urn in roles.list_role_urns(table)]
        if entries:
            yield from propose("access", table | {"roles": entries})


def list_policies() -> Iterator[Facts]:
    """Yield every policy, the guide's four first and the shipped one for owners last."""
    databases = {f"{layer}_database": tables.find_table(layer, "orders")["containers"][0] for layer in ("core", "raw")}
    for key, entry in POLICIES["policies"].items():
        policy = POLICIES["defaults"] | {"key": key, "privilege_list": entry["privileges"].split()} | entry
        if "where" in policy:
            policy["resources"] = _describe_resources(fill(policy["where"], databases), policy.get("only_for", []))
        yield from propose("policy", policy)


def _describe_resources(where: list[str], only_for: list[str]) -> Facts:
    limits = {"privilegeConstraints": {"criteria": [_read_criterion(text) for text in only_for]}} if only_for else {}
    return {"allResources": False, "filter": {"criteria": [_read_criterion(text) for text in where]}} | limits


def _read_criterion(text: str) -> Facts:
    field, condition, *values = text.split()
    return {"field": field, "values": values, "condition": condition}
