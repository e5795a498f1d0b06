"""A certificate, checked with nothing but itself and the tables that everybody knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.catalog import KNOWN
from holdfast.kernel.proof import certificate
from holdfast.kernel.proof.certificate import CertificateVerdict


def verify(data: Mapping[str, Any]) -> CertificateVerdict:
    """Whether it proves what it says. Never raises: a text that is no certificate has that as its problem."""
    return certificate.verify(data, KNOWN)
