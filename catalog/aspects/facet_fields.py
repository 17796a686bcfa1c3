"""Fields of facets that documents yield besides those of policies, without what checks documents."""

from policies.engine import selectors

#: Fields of facets that policies do not test; they serve lists, search and pages.
WORD = "WORD"
PLATFORM = "PLATFORM"
ID = "ID"
PROJECT = "PROJECT"
SUBJECT = "SUBJECT"
ASSET = "ASSET"
#: Sources and products of an entity, from its own documents.
UPSTREAM = "UPSTREAM"
DOWNSTREAM = "DOWNSTREAM"
LOGICAL_PARENT = "LOGICAL_PARENT"
#: Relations of a glossary term to other terms.
TERM_IS = "TERM_IS"
TERM_HAS = "TERM_HAS"
TERM_VALUE = "TERM_VALUE"
TERM_RELATED = "TERM_RELATED"
ACCESS_ROLE = "ACCESS_ROLE"
ROLE_USER = "ROLE_USER"
ROLE_GROUP = "ROLE_GROUP"
ROLE_TYPE = "ROLE_TYPE"
#: What kind of object of its platform an entity is, such as VIEW.
SUBTYPE = "SUBTYPE"
#: Fields for values that a domain, term, term group or platform instance has besides itself in its own field, such as
#: the aspect `domains` of a domain. Policies do not test them; relationships and deletions name them.
UNTESTED_FIELDS = {
    selectors.DATA_PLATFORM_INSTANCE: "NODE_INSTANCE",
    selectors.DOMAIN: "NODE_DOMAIN",
    selectors.GLOSSARY: "NODE_GLOSSARY",
}

#: Maximum length of a projected name, in characters; a longer name is cut and stays whole in its aspect.
MAX_NAME_LENGTH = 255
