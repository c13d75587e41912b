"""Notes of papers and conversations: what is in them, that links resolve, that a person's words stay byte for byte."""

import random
import re
from dataclasses import replace
from urllib.parse import unquote, urlsplit

import pytest
import yaml

from ragscience.engine.notes import safe_name
from ragscience.library.history import History, KeptAnswer
from tests.pdf_factory import make_pdf
from tests.zotero_library import Zotero

SPEED = "How fast do bees fly in fog?"
WAGGLE = ["The waggle dance as a map\n\nBees point at flowers by dancing.", "A dance lasts 1.5 seconds per kilometre."]
BLOCK = re.compile(r"^<!-- ragscience: (?!end).*?^<!-- ragscience: end -->", re.M | re.S)
OURS = ("citekey", "title", "authors", "year", "venue", "type", "zotero", "file", "tags", "paper_tags", "started",
        "questions")  # fmt: skip
WIKI, LINK = re.compile(r"\[\[([^\]|]+)\|[^\]]+\]\]"), re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


@pytest.fixture
def shelf(own, tmp_path):
    """Three papers of papers/, one of Zotero's with marks, and a conversation about each of two."""
    zotero = Zotero(tmp_path / "Zotero")
    dance = zotero.collection("Dances / 🐝")
    item = zotero.item(
        "journalArticle", authors=[("Ada", "Wild")], title="The waggle dance: a map", date="2019-00-00 2019",
        publicationTitle="J. Bees", citationKey="wild/2019:map", collections=[dance], tags=["to read", "2019", "🐝"],
    )  # fmt: skip
    attached, path = zotero.attach(item, "waggle.pdf")
    make_pdf(path, WAGGLE)
    zotero.annotate(attached, 2, "1.5 seconds per kilometre", "compare [[fog]] #later")
    zotero.note(item, "<p>Lent by Kim</p>")
    zotero.save()
    ran = own.ingest("zotero", "--data", zotero.folder, RAG_EMBEDDER="embedded")
    assert ran.code == 0, ran.err
    own.query(SPEED, "--chat", "day one")
    own.query("How long is a dance per kilometre?", "--chat", "CON")
    own.zotero, own.item, own.attached = zotero, item, attached
    return own


def exported(home, folder, *, code=0, how="--obsidian"):
    ran = home.query("export", how, folder)
    assert ran.code == code, ran.err
    return ran


def notes_in(folder):
    return {path.relative_to(folder).as_posix(): path for path in folder.rglob("*.md")}


def front(path):
    return yaml.safe_load(path.read_text().split("---")[1])


def users_part(text):
    """A note without what is the program's, by other means than the program's."""
    head = re.match(r"\ufeff?---\r?\n.*?^---", text, re.M | re.S)
    rest = text[head.end() :] if head else text
    lines = head[0].splitlines(keepends=True) if head else []
    return [line for line in lines if line.partition(":")[0] not in OURS], BLOCK.sub("", rest)


def test_a_paper_has_its_fields_marks_and_questions(shelf, tmp_path):
    exported(shelf, tmp_path / "vault")
    notes = notes_in(tmp_path / "vault")
    assert set(notes) == {
        "papers/navigation.md", "papers/firing.md", "papers/predicting.md", "papers/wild-2019-map.md",
        "conversations/day one.md", "conversations/CON_.md",
    }  # fmt: skip
    known, text = front(notes["papers/wild-2019-map.md"]), notes["papers/wild-2019-map.md"].read_text()
    assert known["citekey"] == "wild/2019:map"
    assert (known["authors"], known["year"], known["venue"]) == (["Ada Wild"], 2019, "J. Bees")
    assert known["collections"] == ["Dances / 🐝"]
    assert sorted(known["tags"]) == ["_2019", "to-read", "🐝"]
    key = shelf.zotero.keys[shelf.attached]
    assert f"[p. 2](zotero://open-pdf/library/items/{key}?page=2&annotation=" in text
    assert "“1.5 seconds per kilometre” — compare \\[[fog]] \\#later" in text
    assert "Lent by Kim" in text
    assert text.count("Lent by Kim") == text.count("compare \\[[fog") == 1
    assert "- How long is a dance per kilometre? ([[CON_|" in text
    assert f"([p. 2](zotero://open-pdf/library/items/{key}?page=2))" in text
    assert SPEED in notes["papers/navigation.md"].read_text()
    talk = notes["conversations/day one.md"].read_text()
    assert f"## 1. {SPEED}" in talk
    assert "[[navigation|bees.pdf]], [p.2](file://" in talk


@pytest.mark.parametrize("how", ["--obsidian", "--markdown"])
def test_links_resolve_and_a_second_export_changes_nothing(shelf, tmp_path, how):
    vault = tmp_path / "my vault"
    exported(shelf, vault, how=how)
    notes = notes_in(vault)
    count = 0
    for path in notes.values():
        text = path.read_text()
        count += len(WIKI.findall(text)) + len(LINK.findall(text))
        for target in WIKI.findall(text):
            assert [one.stem for one in notes.values()].count(target) == 1
        for target in LINK.findall(text):
            parts = urlsplit(target)
            if parts.scheme == "file":
                assert (tmp_path / unquote(parts.path)).is_file()
            elif parts.scheme == "zotero":
                assert parts.path.rpartition("/")[2] in shelf.zotero.keys.values()
            else:
                assert (path.parent / unquote(target)).is_file()
    assert count > 12
    assert (sum("[[" in path.read_text().replace("\\[[", "") for path in notes.values()) > 0) == (how == "--obsidian")
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in notes.values()}
    ran = exported(shelf, vault, how=how)
    assert "0 new notes, 0 changed, 6 as they were" in ran.err
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in notes_in(vault).values()} == before


def many_conversations(home, count):
    """As many saved conversations, all with the same answer, whose questions are odd."""
    odd = ["a/b\\c", "🐝 bees?", "con", "x" * 300, "..", "same", "Ünï #tag [[x]]", "a|b<c>", "%%"]
    odd.append("<!-- ragscience: end -->")
    with History.open_for_writing(home.home / "vectorstore" / "history.sqlite") as history:
        (first,) = history.turns(1)
        for number in range(count):
            answer = replace(first.answer, answer_id=f"id{number:05}", question=odd[number % len(odd)])
            history.add([KeptAnswer(None, first.created_at, answer)])


def one_more_turn(home):
    with History.open_for_writing(home.home / "vectorstore" / "history.sqlite") as history:
        for talk in history.conversations():
            (first, *_) = history.turns(talk.conversation_id)
            answer = replace(first.answer, answer_id=f"more{talk.conversation_id}", question="And then?")
            history.add([KeptAnswer(None, first.created_at, answer)], conversation_id=talk.conversation_id)


def edited(text, rng):
    """The note as a person may have left it."""
    words = ["mine\n", "\n\n", "- a\n  - b ünï 🐝\n", "## My thoughts\n\n", "| a | b |\n", "$x$ %% c %%\n"]
    lines = text.splitlines(keepends=True)
    front_end = lines.index("---\n", 1)
    outside, inside = [], False
    for number, line in enumerate(lines[front_end + 1 :], front_end + 1):
        inside = (inside or line.startswith("<!-- ragscience:")) and not line.startswith("<!-- ragscience: end")
        outside += [] if inside else [number + 1]
    for place in sorted(rng.sample(outside, min(len(outside), rng.randint(1, 4))), reverse=True):
        lines.insert(place, rng.choice(words))
    for place in sorted(rng.sample(range(1, front_end + 1), rng.randint(0, 2)), reverse=True):
        lines.insert(
            place, rng.choice(["mine: [1, 2]\n", "# a comment\n", 'other: "x: y"\n', "rated:\n  - good\n", "\n"])
        )
        break
    text = "".join(lines)
    if rng.random() < 0.2:
        text = text.replace("\n", "\r\n")
    if rng.random() < 0.1:
        text = "\ufeff" + text
    return text.rstrip("\r\n") if rng.random() < 0.2 else text


def test_the_words_of_200_edited_notes_stay_byte_for_byte(own, tmp_path):
    own.query(SPEED)
    many_conversations(own, 200)
    vault = tmp_path / "vault"
    exported(own, vault)
    rng = random.Random(35)
    notes = sorted(notes_in(vault).values())
    assert len(notes) == 204
    for number, path in enumerate(notes):
        path.write_bytes(edited(path.read_bytes().decode(), rng).encode())
        if rng.random() < 0.2:
            (vault / "moved").mkdir(exist_ok=True)
            path.rename(vault / "moved" / f"{number} my name.md")
    notes = sorted(notes_in(vault).values())
    before = {path: path.read_bytes().decode() for path in notes}
    once = exported(own, vault)
    assert "left as it is" not in once.err
    for path, text in before.items():  # links to notes that were moved have changed
        assert users_part(path.read_bytes().decode()) == users_part(text)
    assert " 0 changed, 204 as they were" in exported(own, vault).err
    one_more_turn(own)
    ran = exported(own, vault)
    assert "0 new notes" in ran.err
    assert sorted(notes_in(vault).values()) == notes
    for path, text in before.items():
        after = path.read_bytes().decode()
        assert users_part(after) == users_part(text), path
        if "conversation" in text.partition("<!--")[2][:40]:
            assert "And then?" in after
            assert after.count("questions: 2") == 1
    assert "0 changed" in exported(own, vault).err


DAMAGE = {
    "an end is gone": lambda text: text.replace("<!-- ragscience: end -->", "", 1),
    "a beginning is gone": lambda text: re.sub(r"<!-- ragscience: marks .*?-->\n", "", text),
    "a block is there twice": lambda text: text + BLOCK.findall(text)[0],
    "a mark is cut": lambda text: text.replace("<!-- ragscience: end -->", "<!-- ragscience: en", 1),
    "front matter without an end": lambda text: text.replace("\n---\n", "\n", 1),
    "front matter that is no YAML": lambda text: text.replace("citekey: ", "a: [\nciteky: ", 1),
    "a field twice": lambda text: text.replace("citekey:", "citekey: mine\ncitekey:", 1),
    "all marks are gone": lambda text: re.sub(r"<!-- ragscience.*?-->", "", text),
    "not UTF-8": lambda text: text + "\udcff",
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_note_is_left_alone_with_one_line(own, tmp_path, damage):
    vault = tmp_path / "vault"
    exported(own, vault)
    note = vault / "papers" / "navigation.md"
    note.write_bytes((damage(note.read_text()) + "my words\n").encode(errors="surrogateescape"))
    own.query(SPEED)
    before = note.read_bytes()
    ran = exported(own, vault, code=3)
    assert note.read_bytes() == before
    assert [line for line in ran.err.splitlines() if "navigation.md" in line] == [
        line for line in ran.err.splitlines() if line.startswith("left as it is: ")
    ]
    assert len(list((vault / "papers").iterdir())) == 3


def test_what_was_taken_out_stays_out(own, tmp_path):
    vault = tmp_path / "vault"
    exported(own, vault)
    note = vault / "papers" / "navigation.md"
    kept = BLOCK.findall(note.read_text())[2]
    note.write_text(f"my own words\n\n{kept}\n")
    own.query(SPEED)
    exported(own, vault)
    assert note.read_text().startswith("my own words\n\n<!-- ragscience: questions ")
    assert SPEED in note.read_text()
    assert "citekey" not in note.read_text()


def test_tags_of_a_person_stay_and_what_obsidian_writes_otherwise_is_the_same(shelf, tmp_path):
    vault = tmp_path / "vault"
    exported(shelf, vault)
    note = vault / "papers" / "wild-2019-map.md"
    text = note.read_text()
    tags = next(line for line in text.splitlines() if line.startswith("tags:"))
    text = text.replace(f"\n{tags}", "\ntags:\n  - to-read\n  - mine\n  - _2019\n  - 🐝").replace(
        "year: 2019", 'year: "2019"'
    )
    note.write_text(text.replace('["Ada Wild"]', "\n- Ada Wild"))
    before = note.read_bytes()
    exported(shelf, vault)
    assert note.read_bytes() == before

    def after(change, *given):
        change(shelf.item, *given)
        shelf.zotero.save()
        shelf.ingest("zotero", "--data", shelf.zotero.folder)
        exported(shelf, vault)
        return front(note)

    assert after(shelf.zotero.tag, "new one")["tags"] == ["to-read", "mine", "_2019", "🐝", "new-one"]
    assert after(shelf.zotero.set_field, "citationKey", "other")["citekey"] == "other"
    assert len(list(note.parent.iterdir())) == 4
    assert after(shelf.zotero.untag, "to read")["tags"] == ["mine", "_2019", "🐝", "new-one"]


def test_a_note_of_the_same_name_and_one_copied_are_left_alone(own, tmp_path):
    vault = tmp_path / "vault"
    (vault / "papers").mkdir(parents=True)
    (vault / "papers" / "navigation.md").write_text("mine\n")
    (vault / ".obsidian").mkdir()
    ran = exported(own, vault, code=3)
    assert "navigation.md: it has no mark of ours" in ran.err
    assert (vault / "papers" / "navigation.md").read_text() == "mine\n"
    copy = vault / "zzz.md"
    copy.write_bytes((vault / "papers" / "firing.md").read_bytes())
    ran = exported(own, vault, code=3)
    assert "zzz.md: it has the marks of papers" in ran.err


@pytest.mark.parametrize(
    ("text", "name"),
    [("a/b\\c:d", "a-b-c-d"), ("🐝 ünï", "🐝 ünï"), ("...", "note"), ("con", "con_"), ("nul.txt", "nul.txt_"),
     ("[[x]] #y", "x- -y"), ("e\u0301", "é"), ("a\x00b", "ab"), ("é" * 200, "é" * 60)],
)  # fmt: skip
def test_names_of_files(text, name):
    assert safe_name(text) == name


def test_marks_of_the_file_itself_are_in_its_note(own, tmp_path):
    import pymupdf

    path = own.home / "papers" / "marked.pdf"
    make_pdf(path, ["How moths fly\n\nMoths keep the moon at one side."])
    with pymupdf.open(path) as document:
        page = document[0]
        mark = page.add_highlight_annot(page.search_for("Moths keep the moon"))
        mark.set_info(content="Lamps, too?", title="Kim Doe")
        mark.update()
        document.saveIncr()
    assert own.ingest().code == 0
    exported(own, tmp_path / "vault")
    (note,) = (text for one in notes_in(tmp_path / "vault").values() if "moths" in (text := one.read_text()).lower())
    assert "## Marked\n\n- [p. 1](file://" in note
    assert "“Moths keep the moon” — Lamps, too? (Notes of Kim Doe)" in note
    assert "Lamps, too? (Notes of Kim Doe) (marked.pdf, p.1)" in own.query("What did I mark about moths?").out
