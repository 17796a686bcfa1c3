"""Whether a text can be an address of Spark, and whether a server of Spark answers there.

Asked before the job starts: Java would try for a minute, and end with a stack.
"""

import os
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

#: Seconds in which a server has to accept a connection.
_CONNECT_SECONDS = 5

_DEFAULT_PORTS = {"spark": 7077, "sc": 15002}
_PROXY_VARIABLES = ("grpc_proxy", "https_proxy", "http_proxy")
_OTHER_PREFIXES = ("local", "yarn", "k8s://")


def find_problem(address: str, *, variable: str = "SPARK_MASTER") -> str:
    """Return the sentence about an address of Spark, in this variable, that cannot be used, or ""."""
    if not address or address.startswith(_OTHER_PREFIXES):
        return ""
    scheme, separator, servers = address.partition("://")
    if scheme not in _DEFAULT_PORTS or not separator:
        return (
            f"{variable} is {address!r}, which is no address of Spark. It has to be local[*], spark://host:7077, "
            "k8s://https://host:port, yarn, or sc://host:15002 for Spark Connect."
        )
    # Behind a proxy only gRPC itself can tell.
    if scheme == "sc" and any(os.environ.get(name) for name in _PROXY_VARIABLES):
        return ""
    # One master and its substitutes; what follows a semicolon are parameters of Connect, among them a token.
    addresses = servers.partition(";")[0].rstrip("/").split(",")
    problems = list(_list_problems(addresses, _DEFAULT_PORTS[scheme]))
    if len(problems) < len(addresses):
        return ""
    return f"No Spark answers at {variable}: {'; '.join(problems)}. Start it, or correct the address."


def _list_problems(addresses: list[str], default_port: int) -> Iterator[str]:
    """Yield why each of these servers that does not answer does not."""
    for address in addresses:
        try:
            server = urlsplit(f"//{address}")
            socket.create_connection((server.hostname, server.port or default_port), _CONNECT_SECONDS).close()
        except socket.gaierror:
            yield f"{address}: there is no such host"
        except TimeoutError:
            yield f"{address}: no answer in {_CONNECT_SECONDS} seconds"
        except ValueError:
            yield f"{address}: this is no host with a port"
        except OSError as error:
            yield f"{address}: {(error.strerror or str(error)).lower()}"
