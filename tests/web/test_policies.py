"""The step Policy: form and text are one, verdicts are an audit's, nothing typed is lost."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.criteria import CRITERIA
from sfumato.errors import PolicyError
from sfumato.web import form_fields
from sfumato.web.bench import Bench
from sfumato.web.desk import Desk
from sfumato.web.folder import Folder
from sfumato.web.form_fields import criterion_cards, parsed, typed
from sfumato.web.live_policy import price_policy, view_policy
from sfumato.web.policies import DRAFT, read_draft
from sfumato.web.policy_text import read_form, with_criterion, with_fields, without_criterion
from sfumato.web.policy_view import PRICE, Filled, PolicyForm
from tests.web.small_project import POLICY, Here, small_project


def sent_by(form: PolicyForm) -> dict[str, str]:
    """What a browser sends of a form that nobody touched: of boxes, those that are ticked."""
    sent: dict[str, str] = {}

    def put(where: str, filled: Filled) -> None:
        sent[f"{where}kind"] = filled.card.kind
        for field in filled.card.fields:
            value = filled.values[field.name]
            if field.kind != "yes":
                sent[where + field.name] = value
            elif (value or field.default) == "true":
                sent[where + field.name] = "true"

    for place, filled in enumerate(form.require):
        put(f"require.{place}.", filled)
    if form.anonymizer is not None:
        put("anonymizer.", form.anonymizer)
    sent |= {"utility": form.top["utility"] or "loss", "suppression": form.top["suppression"]}
    for place, column in enumerate(form.quasi):
        told = form.limits.get(column, {})
        sent[f"limits.{place}.kind"] = "limits"
        sent |= {f"limits.{place}.{end}": told.get(end, "") for end in ("finest", "coarsest")}
        if told.get("star", "") != "false":
            sent[f"limits.{place}.star"] = "true"
    return sent


# -- form and text ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", CRITERIA)
def test_a_form_that_nobody_touched_changes_no_letter_of_the_text(kind: str) -> None:
    text = with_criterion(POLICY, kind)
    assert with_fields(text, sent_by(read_form(text))) == text
    assert text.startswith(POLICY.rstrip())


@pytest.mark.parametrize("kind", CRITERIA)
def test_what_is_typed_stands_in_the_text_and_comes_back(kind: str) -> None:
    text = with_criterion(POLICY, kind)
    sent = sent_by(read_form(text))
    for field in criterion_cards()[kind].fields:
        example = field.example
        if field.kind == "yes":
            example = "false" if field.default == "true" else "true"
        changed = {**sent, f"require.1.{field.name}": example}
        if example == "false":
            del changed[f"require.1.{field.name}"]
        told = with_fields(text, changed)
        filled = read_form(told).require[1]
        expected = field.default if example == field.default else example
        assert (filled.values[field.name] or field.default) == expected
        entry = tomllib.loads(told)["require"][1]
        for key in field.path:
            entry = entry.get(key, {}) if isinstance(entry, dict) else entry
        if example != field.default:
            assert entry == parsed(field, example)
        assert "# the usual" in told
        assert "k = 3  # people" in told
        assert with_fields(told, {**sent_by(read_form(told))}) == told


def test_every_criterion_tells_a_story_and_has_its_fields() -> None:
    for kind, card in criterion_cards().items():
        assert card.question.endswith("?"), kind
        assert card.story.endswith("."), kind
        assert any(field.first for field in card.fields), kind
        assert all(field.about for field in card.fields), kind


def test_a_criterion_that_is_registered_has_a_card(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stricter(sf.KAnonymity):
        """Every group has at least k people, and then some."""

        name = "stricter"

    monkeypatch.setitem(CRITERIA, "stricter", Stricter)
    form_fields.criterion_cards.cache_clear()
    try:
        card = criterion_cards()["stricter"]
        assert card.about == "Every group has at least k people, and then some."
        assert card.fields[0].name == "k"
        assert card.fields[0].rungs[0] == "2"
        assert tomllib.loads(with_criterion(POLICY, "stricter"))["require"][1]["k"] == 5
    finally:
        form_fields.criterion_cards.cache_clear()


def test_only_the_line_that_was_changed_changes() -> None:
    sent = sent_by(read_form(POLICY))
    told = with_fields(POLICY, {**sent, "require.0.k": "7"})
    assert told == POLICY.replace("k = 3  # people", "k = 7  # people")
    limited = with_fields(POLICY, {**sent, "limits.0.finest": "1", "suppression": "0.02"})
    assert tomllib.loads(limited)["schema"]["limits"] == {"age": {"finest": 1}}
    assert tomllib.loads(limited)["suppression"] == 0.02
    again = with_fields(limited, {**sent_by(read_form(limited)), "limits.0.finest": ""})
    assert "limits" not in tomllib.loads(again)["schema"]
    other = with_fields(POLICY, {**sent, "anonymizer.kind": "mondrian"})
    assert tomllib.loads(other)["anonymizer"] == {"kind": "mondrian"}
    none = with_fields(POLICY, {**sent, "anonymizer.kind": ""})
    assert "anonymizer" not in tomllib.loads(none)
    for text in (limited, again, other, none):
        assert "# what was agreed" in text
        assert "# of detail" in text
    two = f'{POLICY}\n# about what follows\n[[require]]\nkind = "k-anonymity"\nk = 2\n'
    emptied = with_fields(two, {**sent_by(read_form(two)), "require.0.k": ""})
    refilled = with_fields(emptied, {**sent_by(read_form(emptied)), "require.0.k": "4"})
    assert refilled == two.replace("k = 3  # people", "k = 4")  # above the words about the next


OTHER_WAYS = {
    "in one line": 'require = [{ kind = "k-anonymity", k = 3 }]  # r\n[schema]\nquasi = ["age"]\n',
    "dotted": 'anonymizer.kind = "lattice"\nschema.quasi = ["age"]\nschema.limits.age.finest = 1\n'
    '[[require]]\nkind = "k-anonymity"\nk = 3  # r\n',
    "tables of limits": '[[require]]\nkind = "k-anonymity"\nk = 3  # r\n[schema]\nquasi = ["age"]\n'
    "[schema.limits.age]\nfinest = 1\n",
    "other line ends": '[schema]\r\nquasi = "age"\r\n[[require]]\r\nkind = "k-anonymity"\r\n'
    "k = 3  # r\r\n",
    "no last line end": '[schema]\nquasi = ["age"]\n[[require]]\nkind = "k-anonymity"\nk = 3 # r',
    "a table below": '[schema]\nquasi = ["age"]\n[[require]]\nkind = "k-anonymity"\nk = 3  # r\n'
    '[[require]]\nkind = "epsilon-privacy"\nepsilon = 2\n[require.adversary]\nshape = "table"\n',
}


@pytest.mark.parametrize("text", OTHER_WAYS.values(), ids=OTHER_WAYS)
def test_texts_are_changed_in_whatever_way_they_are_written(text: str) -> None:
    sent = {**sent_by(read_form(text)), "require.0.k": "9", "suppression": "0.02"}
    sent |= {"limits.0.finest": "2", "anonymizer.kind": "mondrian"}
    told = with_criterion(with_fields(text, sent), "t-closeness")
    assert "# r" in told
    content = tomllib.loads(told)
    assert content["require"][0]["k"] == 9
    assert content["require"][-1] == {"kind": "t-closeness", "t": 0.3}
    assert content["suppression"] == 0.02
    assert content["schema"]["limits"]["age"]["finest"] == 2
    assert content["anonymizer"] == {"kind": "mondrian"}
    assert tomllib.loads(without_criterion(told, 0))["require"] == content["require"][1:]


def test_promises_are_taken_out_but_for_the_last() -> None:
    text = with_criterion(POLICY, "t-closeness")
    assert [one.card.kind for one in read_form(without_criterion(text, 0)).require] == [
        "t-closeness"
    ]
    with pytest.raises(PolicyError, match="at least one"):
        without_criterion(POLICY, 0)


@pytest.mark.parametrize(
    ("value", "kind"),
    [("5", "any"), ("all", "any"), (" x", "any"), ("", "any"), ('a"b\\', "any"), ([1, 2], "any")],
)
def test_what_is_shown_is_read_as_the_same(value: object, kind: str) -> None:
    (field,) = [one for one in criterion_cards()["k-map"].fields if one.name == "population"]
    assert field.kind == kind
    assert parsed(field, typed(value, "any")) == value


# -- verdicts --------------------------------------------------------------------------------------

JUDGED = """
[[require]]
kind = "alpha-k-anonymity"
alpha = 0.5
k = 4

[[require]]
kind = "t-closeness"
t = 0.2

[[require]]
kind = "recursive-diversity"
c = 2
l = 2

[[require]]
kind = "epsilon-privacy"
epsilon = 1.5
adversary = { shape = "table", stubbornness = 1e3 }

[[require]]
kind = "entropy-leakage"
alpha = 0.1

[[require]]
kind = "skyline-privacy"
points = [[1, 1, 1, 0.9]]
"""


def test_live_verdicts_are_those_of_an_audit(tmp_path: Path) -> None:
    project = small_project(tmp_path)
    desk = Desk(tmp_path, project.folder)
    release = sf.anonymize(desk.table(), desk.policy(), seed=1)
    release.save(project.release_folder(1), report=sf.audit(release, desk.policy()))
    desk.policy().save(project.release_folder(1) / "private" / "policy.toml")
    text = POLICY + JUDGED
    policy = sf.Policy(**vars(sf.Policy.load(_written(tmp_path, text))))
    for point, subject in ((0, desk.table()), (1, desk.release(1))):
        view = view_policy(desk, text=text, point=point, everything=True)
        assert view.error == ""
        expected = sf.audit(subject, policy).verdicts[-len(policy.require) :]
        assert [(one.criterion, one.status, one.note) for one in view.verdicts] == [
            (one.criterion, one.status.replace("_", " "), one.note) for one in expected
        ]
        quick = view_policy(desk, text=text, point=point)
        assert [one.status for one in quick.verdicts[:-1]] == [
            one.status for one in view.verdicts[:-1]
        ]
        assert quick.verdicts[-1].status == "not judged"
    assert {"holds", "violated"} <= {one.status for one in view.verdicts}
    project.close()


def _written(folder: Path, text: str) -> Path:
    path = folder / "judged.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_no_text_of_a_page_reads_a_file_outside_the_folder(tmp_path: Path) -> None:
    inside, outside = tmp_path / "office", tmp_path / "secret.csv"
    inside.mkdir()
    outside.write_text("F,somebody's word\nM,another\n")
    (inside / "tree.csv").write_text("F,any\nM,any\n")
    link = inside / "link.csv"
    link.symlink_to(outside)
    project = small_project(inside)
    desk = Desk(inside, project.folder)
    for name in (str(outside), "../../secret.csv", "../link.csv"):
        text = POLICY.replace(
            'sex = { kind = "suppression" }', f'sex = {{ kind = "taxonomy", file = "{name}" }}'
        )
        view = view_policy(desk, text=text)
        assert "lies outside the opened folder" in view.error
        assert "somebody" not in view.error
    near = text.replace(name, "../tree.csv")
    assert not view_policy(desk, text=near).error
    # What the owner's own policy names is hers to name.
    far = text.replace(name, str(outside))
    project.save_policy(far, project.state().revision)
    assert not view_policy(desk, text=far.replace("k = 3", "k = 4")).error


def test_prices_stand_beside_their_promise(tmp_path: Path) -> None:
    project = small_project(tmp_path)
    desk = Desk(tmp_path, project.folder)
    project.keep(PRICE, price_policy(desk, seconds=5))
    priced = view_policy(desk).price
    assert priced is not None
    assert not priced.stale
    (card,) = priced.cards
    assert card is not None
    assert any("without it" in line for line in card.lines)
    later = view_policy(desk, text=with_criterion(POLICY, "distinct-diversity")).price
    assert later is not None
    assert later.stale
    assert later.cards[1] is None
    project.keep(PRICE, "{]")
    assert view_policy(desk).price is None
    project.close()


# -- pages -----------------------------------------------------------------------------------------


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    project = small_project(tmp_path)
    here = Here(tmp_path, project)
    return Bench(Folder(tmp_path, project.folder), project, here, here)  # type: ignore[arg-type]


def test_a_form_is_saved_and_its_comments_stay(visitor) -> None:
    page = visitor.get("/policy")
    assert page.status_code == 200
    assert "Could a colleague find her row?" in page.text
    assert "# the usual" in page.text
    sent = {**sent_by(read_form(POLICY)), "require.0.k": "4", "text": POLICY}
    live = visitor.live("/policy/live", {**sent, "changed": "form"})
    assert "k = 4  # people" in live.text
    assert 'id="verdict-0"' in live.text
    assert visitor.bench.project.state().policy == POLICY
    back = visitor.post("/policy", {**sent, "action": "form", "revision": visitor.revision})
    assert back.status_code == 303
    assert visitor.bench.project.state().policy == POLICY.replace("k = 3", "k = 4")


def test_a_wrong_text_is_one_line_and_is_not_lost(visitor) -> None:
    wrong = POLICY.replace("k = 3", "k = ")
    live = visitor.live("/policy/live", {"text": wrong, "changed": "text", "redraw": "yes"})
    assert live.status_code == 200
    assert "not valid TOML" in live.text
    refused = visitor.post(
        "/policy", {"text": wrong, "action": "text", "revision": visitor.revision}
    )
    assert refused.status_code == 422
    assert "not valid TOML" in refused.text
    assert visitor.bench.project.state().policy == POLICY
    again = visitor.get("/policy")
    assert "k =   # people" in again.text
    assert "not saved yet" in again.text
    draft = read_draft(visitor.bench.project)
    assert draft is not None
    assert draft.text == wrong
    for number in ("0", "-1", "many", ""):
        sent = {**sent_by(read_form(POLICY)), "require.0.k": number, "text": POLICY}
        told = visitor.live("/policy/live", {**sent, "changed": "form"}).text
        assert told.count('class="warning" dir') == 1
    assert visitor.post("/policy", {"action": "discard"}).status_code == 303
    assert visitor.bench.project.kept(DRAFT) is None


def test_two_tabs_do_not_lose_each_others_words(visitor) -> None:
    before = visitor.revision
    mine = POLICY.replace("k = 3", "k = 5")
    visitor.bench.project.save_policy(POLICY.replace("k = 3", "k = 9"), before)
    refused = visitor.post("/policy", {"text": mine, "action": "text", "revision": before})
    assert refused.status_code == 409
    assert "k = 5" in refused.text
    assert "k = 9" in (visitor.bench.project.state().policy or "")
    assert "k = 5" in visitor.get("/policy").text
    over = visitor.post("/policy", {"text": mine, "action": "text", "revision": visitor.revision})
    assert over.status_code == 303
    assert visitor.bench.project.state().policy == mine


def test_what_was_typed_outlives_a_reload_and_never_replaces_newer_words(visitor) -> None:
    typed_text = POLICY.replace("k = 3", "k = 8")
    told = {"text": typed_text, "changed": "text", "revision": visitor.revision}
    visitor.live("/policy/live", told)
    again = visitor.get("/policy").text
    assert "k = 8  # people" in again
    assert "not saved yet" in again
    assert "not saved yet" in visitor.get("/release").text
    newer = POLICY.replace("# what was agreed", "# of another step")
    visitor.bench.project.save_policy(newer, visitor.revision)
    after = visitor.get("/policy").text
    assert "# of another step" in after
    assert "never saved" in after
    assert "k = 8" in after  # still there to be read
    visitor.live("/policy/live", {**told, "text": newer, "revision": visitor.revision})
    assert read_draft(visitor.bench.project) is None
    visitor.bench.project.keep(DRAFT, "[]")
    assert visitor.get("/policy").status_code == 200


def test_without_a_policy_the_page_says_where_to_begin(tmp_path: Path) -> None:
    desk = Desk(tmp_path, tmp_path / "nothing")
    view = view_policy(desk)
    assert "step Data" in view.error
    assert view.form is None


def test_promises_are_added_and_taken_out_by_buttons(visitor) -> None:
    sent = {**sent_by(read_form(POLICY)), "text": POLICY}
    visitor.post("/policy", {**sent, "action": "add:t-closeness", "revision": visitor.revision})
    text = visitor.bench.project.state().policy
    assert [one.card.kind for one in read_form(text).require] == ["k-anonymity", "t-closeness"]
    sent = {**sent_by(read_form(text)), "text": text}
    visitor.post("/policy", {**sent, "action": "drop:0", "revision": visitor.revision})
    assert [one.card.kind for one in read_form(visitor.bench.project.state().policy).require] == [
        "t-closeness"
    ]
    asked = visitor.post("/policy", {**sent, "action": "add:k-map", "revision": visitor.revision})
    assert asked.status_code == 422
    assert "register.csv" in asked.text
    assert "k-map" in (visitor.bench.project.kept(DRAFT) or "")


def test_hostile_labels_are_text(tmp_path: Path) -> None:
    from starlette.testclient import TestClient

    from sfumato.web.guard import Door
    from sfumato.web.server import make_app
    from tests.web.conftest import HERE, PORT

    evil = "</textarea><script>alert(1)</script><b x='"
    policy = POLICY.replace('"sex"]', f'"{evil}"]').replace("sex =", f'"{evil}" =')
    project = small_project(tmp_path, policy, sex=evil, flu="<img src=x onerror=alert(1)>")
    here = Here(tmp_path, project)
    made = Bench(Folder(tmp_path, project.folder), project, here, here)  # type: ignore[arg-type]
    door = Door(PORT)
    with TestClient(make_app(made, door), base_url=HERE) as client:
        client.get(door.address)
        page = client.get("/policy").text
        assert "alert(1)" in page
        assert "<script>alert" not in page
        assert "<img" not in page
        assert "<b x=" not in page
