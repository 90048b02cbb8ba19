"""Relative threat (Boreale, Corradi, Viscardi 2020): what one learns from a release about people in
general, against what an attacker learns about a person she knows to be in it."""
