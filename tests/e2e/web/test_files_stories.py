"""Stories of the person's documents: they stay in the browser, and what leaves is written down."""

import json
import sys
import zipfile
from itertools import pairwise

import pytest
from meaning import NOTES, QUERIES, Reference
from reportlab.lib.pagesizes import A5
from reportlab.pdfgen.canvas import Canvas
from rigging import WEB

from bathysphere.testing import calls, says, together

pytestmark = [pytest.mark.services, pytest.mark.node, pytest.mark.timeout(180, func_only=True)]

REEF = "The reef is old.\n\nIt holds.\n\nFish are many.\n"
LIST = calls("list_user_files")
TIE = 0.01
WORK = says(json.dumps({"move": "work", "why": "They ask for a change."}))


def read(file_id, **more):
    return calls("read_user_file", file_id=file_id, **more)


PAGES = (
    (
        "The harbour was built in 1871, when ships brought coal and took grain.",
        "A tower beside it was paid for by a tax on salt.",
        "The mayor gave a speech that nobody remembers.",
        "Bread was dear that winter, and the bakers were blamed.",
        "Two inns were opened, and one of them burned down.",
    ),
    (
        "Many creatures of the abyss glow by a chemical reaction in the skin.",
        "Others carry bacteria that shine for them.",
        "Nobody knew it before nets came up from below.",
        "A museum in the capital keeps some of them in spirit.",
        "Its rooms are open on Sundays and closed in August.",
    ),
    (
        "A new road to the capital was opened in spring.",
        "The railway came ten years later, with a bridge of iron.",
        "Letters then took one day where they had taken a week.",
        "The post office is a bank today.",
        "Its clock has stood still since the war.",
    ),
)


@pytest.fixture
def pdf(tmp_path):
    """A real PDF of three pages."""
    path = tmp_path / "The harbour.pdf"
    canvas = Canvas(str(path), pagesize=A5)
    for lines in PAGES:
        for row, line in enumerate(lines):
            canvas.drawString(40, 500 - 20 * row, line)
        canvas.showPage()
    canvas.save()
    return path


LIVELIER = calls(
    "patch_user_file",
    file_id="doc-reef",
    search=REEF.strip(),
    replace="The reef is ancient.\n\nIt holds.\n\nFish teem.",
    description="Livelier words.",
)
CHANGED_IN_PART = (read("doc-reef"), LIVELIER, says("I kept your fish."))


def test_one_part_of_two_is_taken_and_the_agent_is_told(story, rig):
    story("files_patch", [WORK, *CHANGED_IN_PART])
    told = json.dumps(rig.model.requests()[-1].body)
    assert "Fish teem." in told
    assert "I have not counted the fish." in told
    assert "The reef is ancient." in told


@pytest.mark.long(
    "tests/e2e/web/test_files_stories.py"
    "::test_of_the_documents_only_answers_leave_and_each_is_written_down"
)
def test_a_dropped_pdf_gives_up_a_sentence_by_its_meaning(story, pdf):
    story("files_meaning", None, str(pdf))


@pytest.mark.long(
    "tests/e2e/web/test_files_stories.py::test_one_part_of_two_is_taken_and_the_agent_is_told"
)
def test_the_default_agent_reads_a_pdf_changes_a_note_in_part_and_compares_two(story, rig, pdf):
    script = [
        calls("search_user_files", query="harbour built", top_k=1),
        says("The harbour was built in 1871."),
        *CHANGED_IN_PART,
        together(read("doc-reef"), read("doc-light")),
        says("One is about stone, one about light."),
    ]
    story("assistant_documents", script, str(pdf))
    told = json.dumps(rig.model.requests()[-1].body)
    assert " | page 1 | next offset 275 @@" in told


@pytest.mark.long(
    "tests/e2e/web/test_files_stories.py"
    "::test_of_the_documents_only_answers_leave_and_each_is_written_down"
)
def test_a_value_from_a_document_is_asked_about_with_its_passage(story):
    story("flow_card")


@pytest.mark.long(
    "tests/e2e/web/test_files_stories.py"
    "::test_of_the_documents_only_answers_leave_and_each_is_written_down"
)
def test_everything_is_exported_deleted_and_imported(story):
    told = says("It says that the reef is old.")
    story("files_backup", [WORK, together(LIST, read("doc-reef")), told])


def test_of_the_documents_only_answers_leave_and_each_is_written_down(story):
    asked = together(
        LIST,
        read("doc-reef", limit=60),
        calls("grep_user_files", pattern="fish are"),
        calls("search_user_files", query="luminous animals living at great depths", top_k=1),
        calls("glob_user_files", pattern="l*"),
    )
    patch = calls(
        "patch_user_file",
        file_id="doc-light",
        search="MARKER-GIVEN-SEARCH Many creatures of the abyss glow",
        replace="All creatures of the abyss glow",
        description="Bolder.",
    )
    script = [WORK, asked, read("doc-light"), patch, says("I have worked through them.")]
    story("files_privacy", script)


@pytest.mark.long(
    "tests/e2e/web/test_files_stories.py"
    "::test_of_the_documents_only_answers_leave_and_each_is_written_down"
)
def test_a_page_of_the_web_becomes_a_source_when_the_person_says_so(story):
    story("files_page")


def docx(path, body, padding=0):
    """A DOCX file with nothing in it that a reader does not need; zeros pack to almost nothing."""
    kind = "http://schemas.openxmlformats.org/"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{kind}package/2006/content-types"><Override '
        'PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-'
        'officedocument.wordprocessingml.document.main+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{kind}package/2006/relationships"><Relationship '
        f'Id="a" Type="{kind}officeDocument/2006/relationships/officeDocument" '
        'Target="word/document.xml"/></Relationships>',
        "word/document.xml": f'<w:document xmlns:w="{kind}wordprocessingml/2006/main"><w:body><w:p>'
        f"<w:r><w:t>{body}</w:t></w:r></w:p></w:body></w:document>{' ' * padding}",
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return path


def test_a_docx_file_becomes_a_source_and_one_that_unpacks_without_end_is_refused(story, tmp_path):
    real = docx(tmp_path / "real.docx", "The reef is old.")
    bomb = docx(tmp_path / "bomb.docx", "x", padding=120_000_000)
    assert bomb.stat().st_size < 200_000
    story("files_docx", None, str(real), str(bomb))


@pytest.mark.long(
    "tests/e2e/web/test_files_stories.py::test_of_the_documents_only_answers_leave_and_each_is_written_down"
)
def test_the_nearest_eight_are_those_of_python_with_the_same_weights(story, tmp_path):
    place = tmp_path / "labelled.json"
    place.write_text(json.dumps({"notes": NOTES, "queries": list(QUERIES)}))
    tops = story("files_labelled", None, str(place))["tops"]
    reference = Reference(WEB / "weights")
    for query in QUERIES:
        scores = reference.scores(query, NOTES)
        assert set(tops[query]) == set(list(scores)[:8]), query
        # Where eight bits round the other way, neighbours of the same score may change places.
        order = [scores[title] for title in tops[query]]
        assert all(one >= other - TIE for one, other in pairwise(order)), (query, order)
    assert sum(label in tops[query] for query, label in QUERIES.items()) == len(QUERIES)
    first = sum(tops[query][0] == label for query, label in QUERIES.items())
    sys.stdout.write(f"first of eight: {first} of {len(QUERIES)}\n")
    assert first >= 8


LOOKED_AT = [WORK, together(LIST, read("doc-essay")), says("They speak of trust.")]


@pytest.mark.long(
    "tests/e2e/web/test_files_stories.py::test_one_part_of_two_is_taken_and_the_agent_is_told"
)
def test_every_view_of_the_documents_is_accessible_in_every_form(story):
    story("files_everywhere", LOOKED_AT)
