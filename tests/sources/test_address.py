"""Addresses: what is shown of them and what is sent."""

from __future__ import annotations

import ssl

import pytest

from specscope.sources.address import key_problem, read_address


def test_a_plain_address() -> None:
    address = read_address("http://host:8080/")
    assert (address.shown, address.host, address.port, address.prefix) == ("http://host:8080", "host", 8080, "")
    assert (address.headers, address.tls()) == ({}, None)


def test_a_prefix_and_the_default_ports() -> None:
    address = read_address("https://host/llama one".replace(" ", "%20") + "/é/")
    assert (address.shown, address.port, address.prefix) == (
        "https://host/llama%20one/%C3%A9",
        443,
        "/llama%20one/%C3%A9",
    )
    assert read_address("http://host").port == 80


def test_ipv6() -> None:
    address = read_address("http://[::1]:8080/x")
    assert (address.shown, address.host, address.prefix) == ("http://[::1]:8080/x", "::1", "/x")


def test_name_and_password_are_sent_and_never_shown() -> None:
    address = read_address("http://me:pa%40ss@host:8080")
    assert address.shown == "http://host:8080"
    assert address.headers == {"Authorization": "Basic bWU6cGFAc3M="}
    assert repr(address) == "Address('http://host:8080')"
    assert read_address("http://me:pass@host", "key").headers == {"Authorization": "Bearer key"}


def test_certificates_are_checked_except_on_this_machine() -> None:
    remote, local = read_address("https://example.org").tls(), read_address("https://127.0.0.1:8080").tls()
    assert remote is not None
    assert local is not None
    assert (remote.verify_mode, remote.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert local.verify_mode == ssl.CERT_NONE
    named = read_address("https://localhost").tls()
    assert named is not None
    assert named.verify_mode == ssl.CERT_NONE


@pytest.mark.parametrize(
    "url",
    ["", "ftp://host", "http://", "http://host:0", "http://host:99999", "http://[::1", "http://h/?key=1", "http://a b"],
)
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_address(url)


@pytest.mark.parametrize("key", ["schlüssel", "two\nlines", "nul\0", "\x7f"])
def test_a_key_that_no_header_can_carry_is_not_sent(key: str) -> None:
    assert key not in key_problem(key)
    assert key_problem(key)
    assert read_address("http://host", key).headers == {}


def test_keys_that_can_be_sent() -> None:
    assert key_problem(None) == ""
    assert key_problem("sk-123 456") == ""
