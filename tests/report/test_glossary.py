"""The glossary explains every word that is a name of ours, in a sentence or two."""

from __future__ import annotations

import pytest

from sfumato.adversaries.catalogue import ADVERSARIES
from sfumato.anonymizers import ANONYMIZERS
from sfumato.criteria import CRITERIA
from sfumato.report.glossary import GLOSSARY, SUBJECTS, Words, terms_in
from sfumato.utility import UTILITIES


def test_every_name_of_ours_is_explained() -> None:
    names = [*CRITERIA, *ADVERSARIES, *UTILITIES, *ANONYMIZERS]
    assert [name for name in names if not terms_in([name])] == []


@pytest.mark.parametrize("word", GLOSSARY)
def test_an_explanation_is_a_sentence_or_two(word: str) -> None:
    term = GLOSSARY[word]
    assert term.means.endswith(".")
    assert term.means.count(". ") <= 1
    assert len(term.means) <= 240
    assert not term.papers.endswith(".")
    assert term.subject in SUBJECTS
    assert terms_in([word]) == [term]


def test_terms_are_found_as_whole_words_and_the_longest_of_them() -> None:
    text = "Quasi-identifiers of each group, k-anonymity; realistic II and realistic I. Regrouped"
    words = Words()
    pieces = list(words.pieces(text))
    assert "".join(piece for piece, _ in pieces) == text
    found = [(piece, term.word) for piece, term in pieces if term is not None]
    assert found == [
        ("Quasi-identifiers", "quasi-identifier"),
        ("group", "group"),
        ("k-anonymity", "k-anonymity"),
        ("realistic II", "realistic II"),
        ("realistic I", "realistic I"),
    ]
    assert [term.word for term in words.met] == sorted(word for _, word in found)


def test_names_that_are_everyday_words_are_only_known_by_themselves() -> None:
    assert terms_in(["the best guess of a great deal"]) == []
    assert [term.word for term in terms_in(["best", "deal"])] == ["best", "deal"]
