"""HTML bodies: what a mail program would show, as lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_agent.extraction.html_text import html_to_text
from tests.unit.mail.mails import mail


def test_a_mail_in_html_reads_like_its_plain_text() -> None:
    assert mail("html_only").text == ("Hallo & guten Tag,\n\nwie kündige ich?\nDanke\n\n- eins\n- zwei\n\n> alte Mail")


@pytest.mark.parametrize(
    "hidden",
    [
        "<div style='display : none'>x</div>",
        '<span style="color:red;DISPLAY:NONE">x</span>',
        "<p hidden>x</p>",
        "<script>x</script>",
        "<style>x</style>",
        "<head><title>x</title></head>",
        "<!-- x -->",
        "<template>x</template>",
        "<div style='display:none'><p>x<b>x</p></div>",
        "<p style='color:#fff; font-size:0'>x</p>",
        "<p style='font-size : 0.0px !important'>x<b>x</b></p>",
        "<span style='font:0/0 a'>x</span>",
    ],
)
def test_what_is_not_shown_is_not_text(hidden: str) -> None:
    """Instructions for a model are hidden like this."""
    assert html_to_text(f"a{hidden}b").text.replace("\n", "") == "ab"


def test_quotations_keep_their_depth() -> None:
    html = "mine<blockquote>one<blockquote>two</blockquote></blockquote>mine again"
    lines = [line for line in html_to_text(html).text.split("\n") if line.strip("> ")]
    assert lines == ["mine", "> one", ">> two", "mine again"]


def test_blocks_and_line_breaks_make_lines_and_white_space_does_not() -> None:
    assert html_to_text("<div>a\n  b</div><div>c<br/>d</div><td>e</td><td>f</td>").text == "a b\nc\nd\ne f"


@pytest.mark.parametrize(
    "html",
    [
        "<td style='font-size:0'><div style='display:inline-block;font-size:14px'>b</div></td>",
        "<td style='font-size:0px'><font size='2'>b</font></td>",
        "<div style='font-size:0'>x<p style='font: bold 1em Arial'>b</p>x</div>",
        "<p style='font-size:0.5em'>b</p>",
        "<div style='font-size:0'><i style='color:red'>x</i></div>b",
    ],
)
def test_only_the_letters_of_no_size_are_hidden(html: str) -> None:
    """Programs that make newsletters set the size of a table's cell to 0 and that of the text in it to another."""
    assert html_to_text(f"a{html}c").text.replace("\n", "").replace(" ", "") == "abc"


def test_the_choices_of_a_form_stand_on_lines_of_their_own() -> None:
    html = "a<select><option>one<option>two</select><table><caption>three</caption><tr><td>four</table>"
    assert html_to_text(html).text.split() == ["a", "one", "two", "three", "four"]


def test_preformatted_lines_stay() -> None:
    assert html_to_text("<pre>a\n  b</pre>").text == "a\n  b"


def test_markup_that_breaks_off_is_told() -> None:
    """A reader that drops the rest in silence would answer half a mail."""
    assert html_to_text("before <a href='x").is_whole is False
    assert html_to_text("before <b>after").is_whole is True
    assert html_to_text("3 &lt; 4 & 5").text == "3 < 4 & 5"


@pytest.mark.parametrize(
    ("link", "text"),
    [
        ("<a href='https://b.example/?c=1'>here</a>.", "here <https://b.example/?c=1>."),
        ("<a href=' tel:+4930123 '>us <b>now</b></a>", "us now <tel:+4930123>"),
        ("<a href='https://b.example/c d>'><p>here</p></a>e", "here\n\n<https://b.example/c%20d%3E>e"),
        ("<a href='https://b.example'>here", "here <https://b.example>"),
        ("<a href='https://b.example'>b <a href='https://c.example'>c", "b <https://b.example>c <https://c.example>"),
        ("<a href='https://www.b.example/'>b.example</a>", "b.example"),
        ("<a href='http://b.example/c?d=1&amp;e=%20'>http://b.example/c?d=1&amp;e=%20</a>", None),
        ("<a href='mailto:anna@b.example'>anna@b.example</a>", "anna@b.example"),
        ("<a href='https://b.example'><img src='cid:c'></a>", ""),
        ("<a href='https://b.example' hidden>here</a>", ""),
        ("<a href='#top'>up</a> <a name='top'>top</a> <a href='javascript:x'>x</a>", "up top x"),
    ],
)
def test_the_target_of_a_link_stands_after_a_text_that_does_not_say_it(link: str, text: str | None) -> None:
    """Only where it is asked for: what a customer wrote is read without."""
    plain = html_to_text(link).text
    assert "<" not in plain
    assert html_to_text(link, keeps_links=True).text == (plain if text is None else text)


@pytest.mark.parametrize(
    ("html", "is_crossed_out"),
    [
        ("<del>50</del> 40", True),
        ("<s><b>50</b></s> 40", True),
        ("<strike>50</strike>", True),
        ("<span style='color:red; text-decoration: line-through'>50</span>", True),
        ("<span style='text-decoration-line:line-through'>50</span>", True),
        ("<del> </del>50", False),
        ("<del hidden>50</del>", False),
        ("<blockquote><del>50</del></blockquote>40", False),
        ("<p style='text-decoration:none'>line-through</p><del>", False),
    ],
)
def test_crossed_out_text_is_told(html: str, is_crossed_out: bool) -> None:
    """As plain text it would read as valid; that of a quotation is not the writer's."""
    assert html_to_text(html).is_crossed_out is is_crossed_out


@given(st.text(st.sampled_from("<>[/!-&;=\"' abp\n"), max_size=200))
def test_any_markup_gives_text(html: str) -> None:
    assert isinstance(html_to_text(html, keeps_links=True).text, str)


@pytest.mark.parametrize("section", ["<![ x]>", "<![foo bar]>", "<![\x00>", "<![]>"])
def test_an_unknown_section_is_a_comment(section: str) -> None:
    """Failure: the library's parser raises an AssertionError, and a customer's mail cannot be read."""
    assert html_to_text(f"<p>May I {section} return it?</p>").text == "May I return it?"
    assert html_to_text(f"<p>May I return it?</p>{section[:-1]}").text.startswith("May I return it?")
