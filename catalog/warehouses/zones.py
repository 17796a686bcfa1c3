"""Abbreviations of time zones with their offsets, as PostgreSQL writes them.

Java knows those of the winter alone, and some as zones of another continent. Of one that several zones use, the one
with the most people is meant.
"""

from collections.abc import Mapping

ZONE_OFFSETS: Mapping[str, str] = {
    **dict.fromkeys(("UTC", "GMT", "UT", "WET"), "+00:00"),
    **dict.fromkeys(("CET", "BST", "WEST", "WAT"), "+01:00"),
    **dict.fromkeys(("CEST", "EET", "CAT", "SAST"), "+02:00"),
    **dict.fromkeys(("EEST", "EAT", "MSK", "IDT"), "+03:00"),
    "PKT": "+05:00",
    "IST": "+05:30",
    "WIB": "+07:00",
    **dict.fromkeys(("AWST", "HKT", "WITA"), "+08:00"),
    **dict.fromkeys(("JST", "KST", "WIT"), "+09:00"),
    "ACST": "+09:30",
    "AEST": "+10:00",
    "ACDT": "+10:30",
    "AEDT": "+11:00",
    "NZST": "+12:00",
    "NZDT": "+13:00",
    "NDT": "-02:30",
    "ADT": "-03:00",
    "NST": "-03:30",
    **dict.fromkeys(("AST", "EDT"), "-04:00"),
    **dict.fromkeys(("EST", "CDT"), "-05:00"),
    **dict.fromkeys(("CST", "MDT"), "-06:00"),
    **dict.fromkeys(("MST", "PDT"), "-07:00"),
    **dict.fromkeys(("PST", "AKDT"), "-08:00"),
    "AKST": "-09:00",
    "HST": "-10:00",
}
