"""Adversaries: what somebody who knows something would believe after seeing a release."""
