"""The page of `facts find --html`: what is highlighted, what is marked as model text, and what is never in it."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_agent.answer.packet import FoundPage
from support_agent.company.documents import Document, load_documents
from support_agent.config.packaged_files import packaged
from support_agent.errors import ConfigError
from support_agent.facts.graph.shown import EntityGraph, GraphEntity, GraphRelation
from support_agent.ops.facts_page import check_page, facts_page, write_page
from support_agent.tools.fact_room import FindingReason, RetrievalResult
from support_agent.tools.fact_trace import DraftStep, Evidence, ModelText, NodeVisit, SentenceRange, WorkflowNode

DOCUMENTS = {f"document:{one.number}": one for one in load_documents(packaged("policies"))}
FIRST = DOCUMENTS["document:1"]
QUESTION = "How long does a refund take?"
DRAFT = "A draft that nobody is sent.\nIt has two lines."
REWRITTEN = "refund duration card"
CLAIM = "A claim in the words of the model."
UNBORNE = "Another one that no sentence says."
PAGE = "https://forum.example/refunds?a=1&b=2"
VOID = {"meta", "br", "path", "rect"}
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)' x='",
    "</title></style><svg onload=alert(1)>",
    "{{ 7 * 7 }}{% raw %}<b>",
    "--><!-- <iframe src=//evil.example>",
    "&lt;script&gt;&#60;b&#62;",
    "javascript:alert(1)",
    "\x00<a href=https://evil.example>\ud800\u202e",
    "</text></svg><form action=https://evil.example>",
)


def at(source: str, first: int, last: int | None = None) -> SentenceRange:
    return SentenceRange(source=source, first=first, last=first if last is None else last)


def entities(name: str = "Refunds") -> EntityGraph:
    """Three of them, related in a row."""
    return EntityGraph(
        entities=(GraphEntity(name=name, hops=0), GraphEntity(name="30 days", hops=1), GraphEntity(name="x", hops=2)),
        relations=(
            GraphRelation(one=0, other=1, pointer=at("document:1", 1)),
            GraphRelation(one=1, other=2, pointer=at("document:9", 1)),
        ),
    )


def found(
    *,
    reason: FindingReason = FindingReason.ANSWERED,
    draft: str = DRAFT,
    claim: str = CLAIM,
    rewritten: str = REWRITTEN,
    page: str = PAGE,
) -> RetrievalResult:
    """A result with a node of each kind that has something to show: two steps, one of them supported."""
    passages = (at("document:1", 0, 2), at("document:9", 1, 2), at(page, 0, 1))
    steps = (
        DraftStep(claim=claim, pointer=at("document:1", 1), probability=0.93, score=0.21),
        DraftStep(claim=UNBORNE + claim),
    )
    question = ModelText(kind="question", text=rewritten, writer="model", seed=1)
    written = ModelText(kind="draft", text=draft, writer="model", seed=1)
    trace = (
        NodeVisit(node=WorkflowNode.REWRITER, cycle=0, decided="rewritten", temperature=0.0, model_text=question),
        NodeVisit(
            node=WorkflowNode.DOCUMENT_GRADER,
            cycle=0,
            decided="1 of 3 relevant",
            threshold=0.4,
            passages=passages,
            passage_grades=(0.75, 0.12, 0.31),
        ),
        NodeVisit(node=WorkflowNode.GENERATOR, cycle=0, decided="written", temperature=0.4, model_text=written),
        NodeVisit(node=WorkflowNode.HALLUCINATION_GRADER, cycle=0, decided="supported", grade=0.81, threshold=0.55),
        NodeVisit(node=WorkflowNode.EVIDENCE, cycle=0, decided="1 of 2 steps supported", steps=steps),
    )
    is_answered = reason is FindingReason.ANSWERED
    return RetrievalResult(
        reason=reason,
        evidence=(Evidence(**dict(passages[0]), grade=0.75),),
        sentences=(at("document:1", 1),) if is_answered else (),
        grounded=0.81,
        tokens=380,
        forward_passes=41,
        seconds=1.5,
        index_version="v",
        trace=trace if is_answered else trace[:-1],
    )


class Read(HTMLParser):
    """A page as tags with their attributes, and its texts with all that they stand in."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.texts: list[tuple[str, tuple[tuple[str, str], ...]]] = []
        self._open: list[tuple[str, str]] = []
        self.feed(html)
        self.close()
        assert not self._open, "every tag is closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.tags.append((tag, values))
        if tag not in VOID:
            self._open.append((tag, values.get("class", "")))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append((data.strip(), tuple(self._open)))

    def classes_of(self, text: str) -> list[set[str]]:
        """For each place where a text stands, the classes around it."""
        return [{kind for _, kind in around} for said, around in self.texts if text in said]

    def marked(self, strength: str) -> list[str]:
        return [said for said, around in self.texts if around[-1] == ("mark", strength)]


def page_of(**changes: object) -> Read:
    return Read(facts_page(QUESTION, found(**changes), DOCUMENTS, entities()))  # type: ignore[arg-type]


def sentence(position: int) -> str:
    return FIRST.sentences[position].text


def test_the_sentence_that_bears_a_step_out_is_highlighted_by_how_surely_it_does() -> None:
    """Rule: it alone, with its number in words too; what stands beside it in its passage is only underlined."""
    page = page_of()
    assert page.marked("strong") == ["0.90 and more", sentence(1)]
    assert [said for said, around in page.texts if around[-1] == ("small", "note")] == ["step 1: 0.93"]
    assert any("near" in classes for classes in page.classes_of(sentence(0)))


def test_where_nothing_answers_what_seemed_relevant_is_highlighted_by_its_grade() -> None:
    page = page_of(reason=FindingReason.HALLUCINATION)
    assert page.marked("fair")[1:] == [sentence(0), sentence(1), sentence(2)]
    assert "Not answered: hallucination" in [said for said, _ in page.texts]
    assert "What seemed relevant" in " ".join(said for said, _ in page.texts)


def test_the_document_is_there_whole() -> None:
    """Rule: evidence is read in its place; the other sections are folded."""
    said = " ".join(text for text, _ in page_of().texts)
    assert all(one.text in said for one in FIRST.sentences)
    assert DOCUMENTS["document:9"].sentences[5].text not in said


def test_each_step_stands_beside_its_sentence_or_says_that_none_supports_it() -> None:
    said = [text for text, around in page_of().texts if ("div", "pair") in around]
    assert said.index(CLAIM) < said.index(sentence(1)) < said.index(UNBORNE + CLAIM)
    assert said[-1] == "No sentence supports this step."


@pytest.mark.parametrize("text", ["A draft that nobody is sent.", "It has two lines.", REWRITTEN, CLAIM, UNBORNE])
def test_what_the_model_wrote_is_marked_wherever_it_stands(text: str) -> None:
    """Rule: in an element that says in words that it is the model's, and that no customer is sent it."""
    page = page_of()
    places = page.classes_of(text)
    assert places
    assert all("model" in classes for classes in places)
    labels = [said for said, around in page.texts if around[-1] == ("p", "label")]
    assert len(labels) == sum(values.get("class") == "model" for _, values in page.tags)
    assert all(label.startswith("Model text") and "never sent to a customer" in label for label in labels)


def test_nothing_of_the_company_is_marked_as_the_model_s() -> None:
    page = page_of()
    assert not any("model" in classes for one in FIRST.sentences for classes in page.classes_of(one.text))


def test_rejected_passages_stand_in_the_trace_with_their_grades() -> None:
    """Rule: node by node; a page of the web by its address, as text."""
    said = [text for text, _ in page_of().texts]
    assert [text for text in said if text in ("0.75 used", "rejected")] == ["0.75 used", "rejected", "rejected"]
    assert {"0.12", "0.31"} <= set(said)
    assert f"web page {PAGE}, sentences 1 to 2" in said
    titles = [text for text in said if re.match(r"\d+\. ", text) and ":" in text]
    assert titles[0] == "1. question rewriter: rewritten"
    assert titles[-1] == "5. evidence chainer: 1 of 2 steps supported"


def test_pages_of_the_web_are_shown_as_not_the_companys_words() -> None:
    """With their addresses, which are no links; without any there is no such part."""
    web = FoundPage(address="https://forum.example/1", heading="A thread", text="Ask the bank.", found_by=("google",))
    page = Read(facts_page(QUESTION, found().model_copy(update={"pages": (web,)}), DOCUMENTS, entities()))
    said = [text for text, _ in page.texts]
    assert "Pages of the web: not the company's words" in said
    assert said.index("Ask the bank.") + 1 == said.index("https://forum.example/1, found by google")
    assert not any("forum" in values.get("href", "") for _, values in page.tags)
    assert not any("not the company's words" in text for text, _ in page_of().texts)


def test_the_picture_of_the_entities_is_said_in_words_too() -> None:
    page = page_of()
    pictured = [said for said, around in page.texts if around[-1][0] == "text"]
    assert pictured == ["Refunds", "30 days", "x"]
    ids = {values["id"] for _, values in page.tags if "id" in values}
    (svg,) = (values for tag, values in page.tags if tag == "svg")
    assert svg["role"] == "img"
    assert set(svg["aria-labelledby"].split()) <= ids
    assert sum(values.get("class") == "evidence" for tag, values in page.tags if tag == "path") == 1
    assert {"Refunds: named by a step", "30 days: 1 away"} <= {said for said, _ in page.texts}


def test_nothing_is_fetched_and_nothing_runs() -> None:
    """Rule: no script, no source, no style from outside; only a document's own address leads out."""
    html = facts_page(QUESTION, found(), DOCUMENTS, entities())
    page = Read(html)
    fetching = {"src", "srcset", "data", "action", "poster", "background", "style", "xlink:href"}
    assert not [values for _, values in page.tags if fetching & values.keys()]
    assert not {"script", "link", "img", "iframe", "object", "embed", "base", "form"} & {tag for tag, _ in page.tags}
    outside = [values["href"] for _, values in page.tags if not values.get("href", "#").startswith("#")]
    assert outside == [FIRST.head.url]
    assert "url(" not in html
    assert "@import" not in html
    (policy,) = (values["content"] for _, values in page.tags if "http-equiv" in values)
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'")


def test_every_link_on_the_page_leads_somewhere() -> None:
    page = page_of()
    ids = [values["id"] for _, values in page.tags if "id" in values]
    assert len(ids) == len(set(ids))
    assert {values["href"][1:] for _, values in page.tags if values.get("href", "").startswith("#")} <= set(ids)


def test_headings_go_down_one_by_one() -> None:
    levels = [int(tag[1]) for tag, _ in page_of().tags if re.fullmatch(r"h\d", tag)]
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in zip([0, *levels], levels, strict=False))


def hostile_page(text: str) -> tuple[Read, Read]:
    """The page with a text wherever one from outside can stand, and the same with a harmless one."""

    def page(text: str) -> Read:
        head = FIRST.head.model_copy(update={"title": text, "url": text})
        sentences = tuple(one.model_copy(update={"text": text, "heading": text}) for one in FIRST.sentences)
        changed = FIRST.model_copy(update={"head": head, "sentences": sentences, "language": text})
        documents: dict[str, Document] = {**DOCUMENTS, "document:1": changed}
        findings = found(draft=text, claim=text, rewritten=text, page=f"https://{text}")
        web = FoundPage(address=f"https://{text}", heading=text, text=text, found_by=(text,))
        return Read(facts_page(text, findings.model_copy(update={"pages": (web,)}), documents, entities(text)))

    return page(text), page("harmless")


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_becomes_markup(text: str) -> None:
    """Rule: question, draft, steps, names, sentences, title and addresses add no tag and no attribute."""
    page, harmless = hostile_page(text)
    assert [(tag, values.keys()) for tag, values in page.tags] == [(tag, v.keys()) for tag, v in harmless.tags]
    assert not any("evil" in values.get("href", "") for _, values in page.tags)


@given(st.text(alphabet=st.characters(codec=None), min_size=1, max_size=60).map(lambda text: f"x{text}x"))
def test_whatever_is_written_becomes_no_markup(text: str) -> None:
    page, harmless = hostile_page(text.replace("\n", " "))
    assert [tag for tag, _ in page.tags if tag != "p"] == [tag for tag, _ in harmless.tags if tag != "p"]


def test_the_page_can_be_written_and_turns_no_text_around() -> None:
    """Rule: characters that reorder others could hide the mark of model text."""
    html = facts_page("a\u202eb\ud800c", found(draft="\u2067x"), DOCUMENTS, entities())
    assert html.encode("utf-8")
    assert not set("\u202e\u2067\u2066") & set(html)


def test_a_document_of_before_is_shown_as_far_as_it_goes() -> None:
    """Rule: a page made later of a stored trace does not fail where a document became shorter, or is gone."""
    shorter = FIRST.model_copy(update={"sentences": FIRST.sentences[:1]})
    assert Read(facts_page(QUESTION, found(), {"document:1": shorter}, entities())).marked("strong") == [
        "0.90 and more"
    ]
    assert Read(facts_page(QUESTION, found(), {}, entities())).marked("strong") == []


def test_findings_of_nothing_are_a_page() -> None:
    nothing = RetrievalResult(reason=FindingReason.FAILED, index_version="")
    said = [text for text, _ in Read(facts_page(QUESTION, nothing, DOCUMENTS, EntityGraph())).texts]
    assert {"No document has evidence.", "Not answered: failed"} <= set(said)


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_texts_have_contrast_in_light_and_in_dark() -> None:
    """Rule: WCAG 2.2, 1.4.3 (texts, 4.5) and 1.4.11 (lines, 3)."""
    light, dark = re.findall(r":root \{(.*?)\}", facts_page(QUESTION, found(), DOCUMENTS, entities()), re.DOTALL)
    for theme in (light, dark):
        colours = dict(re.findall(r"--([\w-]+): (#\w{6})", theme))
        for ground in ("paper", "panel", "strong", "fair", "weak", "model", "hop0", "hop1", "hop2"):
            assert contrast(colours["ink"], colours[ground]) >= 4.5, ground
        for ground in ("paper", "panel"):
            assert min(contrast(colours[text], colours[ground]) for text in ("quiet", "link")) >= 4.5, ground
        assert min(contrast(colours[line], colours["paper"]) for line in ("line", "evidence", "model-line")) >= 3


def test_a_file_that_is_there_is_left_alone(tmp_path: Path) -> None:
    """Rule: nothing is overwritten, whether it was there before or came meanwhile; a link is a file too."""
    there, link = tmp_path / "there.html", tmp_path / "link.html"
    there.write_text("mine")
    link.symlink_to(tmp_path / "nowhere.html")
    for file in (there, link):
        with pytest.raises(ConfigError, match="exists"):
            write_page(file, "<p>")
    assert there.read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.html", "there.html"]


@pytest.mark.parametrize(("name", "why"), [("page.txt", "ends in .html"), ("no/page.html", "there is no folder")])
def test_other_names_are_refused_before_anything_is_asked(tmp_path: Path, name: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        check_page(tmp_path / name)


def test_the_page_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule: only its owner may read it, and a disk that fails leaves no half of it."""
    write_page(tmp_path / "a.html", "<p>ä")
    assert (tmp_path / "a.html").read_bytes() == "<p>ä".encode()
    assert (tmp_path / "a.html").stat().st_mode & 0o777 == 0o600

    def fails(_self: Path, _target: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "hardlink_to", fails)
    with pytest.raises(ConfigError, match="No space left"):
        write_page(tmp_path / "b.html", "<p>")
    assert [path.name for path in tmp_path.iterdir()] == ["a.html"]
