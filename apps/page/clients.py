"""Who sends requests: a client is an IPv4 address, or an IPv6 network of one subscriber."""

import ipaddress
from functools import lru_cache

IPV6_PREFIX = 64  # bits; one subscriber has all addresses of such a network


@lru_cache(maxsize=4096)
def client_of(address: str) -> str:
    """Return what all addresses of one client share.

    Examples
    --------
    >>> client_of("192.0.2.7"), client_of("::ffff:192.0.2.7"), client_of("2001:db8::1:2%eth0")
    ('192.0.2.7', '192.0.2.7', '2001:db8::/64')
    """
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:  # a socket without addresses
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found, IPV6_PREFIX), strict=False))
