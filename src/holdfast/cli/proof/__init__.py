"""Lifecycles, audits, certificates and the database itself."""
