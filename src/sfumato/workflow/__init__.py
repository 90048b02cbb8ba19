"""Whole runs, each a few calls readable on one screen."""
