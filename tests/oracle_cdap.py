"""A naive judge of CDAP operations: reads the table as it is written and follows the core rules, step by step.

It shares no code with the product. Source 002; where the source is silent, rules/cdap.md section 2. Grants are a list
of (principal, entity, privilege); entities are short names, `namespace:ns1`, `program:ns1.orders.load`.
"""

# Plain loops and ladders are the point here: each step can be laid beside the sentence it follows.

# One line is one row of the table: entity, operation, what is required. `(N)` is on the namespace, `(I)` on the
# instance, `(A)` on the artifact if there is one; without brackets on the entity itself.
TABLE = """
namespace    create             WRITE(I)
namespace    update             ADMIN
namespace    list               -
namespace    get                READ
namespace    delete             ADMIN
namespace    set_preference     WRITE
namespace    get_preference     READ
namespace    search             READ
artifact     add                WRITE(N)
artifact     delete             ADMIN
artifact     get                READ
artifact     list               READ/WRITE/ADMIN
artifact     write_property     ADMIN
artifact     delete_property    ADMIN
artifact     get_property       READ
artifact     write_metadata     ADMIN
artifact     read_metadata      READ
application  deploy             WRITE(N) READ(A)
application  get                READ
application  list               READ/WRITE/ADMIN
application  update             ADMIN
application  delete             ADMIN
application  set_preference     WRITE
application  get_preference     READ
application  add_metadata       ADMIN
application  get_metadata       READ
program      start              EXECUTE READ(N)
program      stop               EXECUTE READ(N)
program      debug              EXECUTE READ(N)
program      set_instances      ADMIN
program      list               READ/WRITE/ADMIN
program      set_runtime_args   ADMIN
program      get_runtime_args   READ
program      get_instances      READ
program      set_preference     WRITE
program      get_preference     READ
program      get_status         READ
program      get_history        READ
program      add_metadata       ADMIN
program      get_metadata       READ
program      emit_logs          WRITE(N)
program      view_logs          READ
program      emit_metrics       WRITE(N)
program      view_metrics       READ
stream       create             WRITE(N)
stream       update_properties  ADMIN
stream       delete             ADMIN
stream       truncate           ADMIN
stream       enqueue            WRITE READ(N)
stream       async_enqueue      WRITE READ(N)
stream       batch              WRITE READ(N)
stream       get                READ READ(N)
stream       list               READ/WRITE/ADMIN
stream       read_events        READ READ(N)
stream       set_preferences    WRITE
stream       get_preferences    READ
stream       add_metadata       ADMIN
stream       get_metadata       READ
stream       view_lineage       READ
stream       emit_metrics       WRITE(N)
stream       view_metrics       READ
dataset      create             WRITE(N)
dataset      get                READ READ(N)
dataset      list               READ/WRITE/ADMIN
dataset      update             ADMIN READ(N)
dataset      drop               ADMIN
dataset      truncate           ADMIN
dataset      upgrade            ADMIN
dataset      add_metadata       ADMIN
dataset      get_metadata       READ
dataset      view_lineage       READ
dataset      emit_metrics       WRITE(N)
dataset      view_metrics       READ
"""

# The ten sentences before the table, for what it does not list. `(P)` is on the parent.
CORE = {
    "create": "WRITE(P)",
    "delete": "ADMIN",
    "delete_all": "ADMIN",
    "list": "READ/WRITE/ADMIN",
    "get": "READ READ(P)",
    "set_preference": "WRITE",
    "get_preference": "READ",
    "update": "ADMIN",
    "add_metadata": "ADMIN",
    "get_metadata": "READ",
}


def missing(grants, holders, operation, entity, artifact=None):
    """Return the lacking (privilege, entity) pairs of an operation, in the order of the table; none allows it."""
    lacking = []
    for word in required(operation).split():
        if word == "-":
            continue
        names, _, place = word.rstrip(")").partition("(")
        where = on(place, entity, artifact)
        if where is None:
            continue
        if not any(holds(grants, holders, where, name) for name in names.split("/")):
            lacking.append((names.split("/")[0], where))
    return lacking


def required(operation):
    """Return what the row says, or else the core rule."""
    kind, verb = operation.split(".")
    for line in TABLE.strip().splitlines():
        listed_kind, listed_verb, words = line.split(None, 2)
        if (listed_kind, listed_verb) == (kind, verb):
            return words
    return CORE[verb]


def on(place, entity, artifact):
    kind, _, name = entity.partition(":")
    if place == "":
        return entity
    if place == "A":
        return artifact
    if place == "I":
        return "instance:cdap"
    if place == "N":
        return "namespace:" + name.split(".")[0]
    # The parent: of a namespace the instance, of a program its application, of anything else its namespace.
    if kind == "namespace":
        return "instance:cdap"
    if kind == "program":
        return "application:" + ".".join(name.split(".")[:2])
    return "namespace:" + name.split(".")[0]


def holds(grants, holders, entity, privilege):
    """Whether one of the holders was granted exactly this on exactly that: no privilege gives another, no entity what
    lies in it. ALL is the four.
    """
    for principal, granted_on, granted in grants:
        if principal in holders and granted_on == entity and granted in (privilege, "ALL"):
            return True
    return False
