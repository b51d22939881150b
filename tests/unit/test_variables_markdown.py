"""Markdown of the generated parts shows text letter for letter."""

import pandas as pd
import pypandoc
import pytest
from bs4 import BeautifulSoup
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_scaling.ledger.judging import judge
from attention_scaling.ledger.models import Lesson
from attention_scaling.site.ledger_pages import ledger_parts
from attention_scaling.site.markdown import code, escape, table
from attention_scaling.tables import MEASUREMENT_SCHEMA


def shown(markdown: str) -> str:
    html = pypandoc.convert_text(markdown, "html", format="markdown", extra_args=["--wrap=none"])
    return BeautifulSoup(html, "html.parser").get_text().strip()


@settings(max_examples=25)
@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1))
def test_escaped_text_is_shown_as_it_is(text):
    words = " ".join(text.split())
    if words:
        # Behind other words: at the start of a paragraph a digit or a sign could make a list.
        assert shown(f"See {escape(words)}") == f"See {words}"


@pytest.mark.parametrize("text", ["a", "d_k = 4, divisor = root", "a `b` c", "x|y"])
def test_code(text):
    assert shown(f"See {code(text)}.") == f"See {text}."


def test_a_table_keeps_its_cells():
    text = table(["a|b", "c"], "lr", [["x", "1"], [escape("y|z"), "2"]], caption="C", label="t")
    assert "{#tbl-t}" in text
    html = pypandoc.convert_text(text.replace("a|b", "ab"), "html", format="markdown")
    cells = [cell.get_text() for cell in BeautifulSoup(html, "html.parser").select("td")]
    assert cells == ["x", "1", "y|z", "2"]


def test_a_claim_shows_its_words_as_they_are():
    words = "See @fig-x, &lt;b&gt; of **two** | <i>or</i> $x^2$"
    claim = {"id": "X", "line": 1, "says": words, "kind": "cited", "cited": words, "note": words}
    lesson = Lesson.model_validate(
        {"lesson": "l", "title": words, "file": "l.txt", "claims": [claim]}
    )
    measurements = pd.DataFrame(columns=MEASUREMENT_SCHEMA.names)
    parts = ledger_parts([lesson], judge([lesson], measurements), measurements)
    # In full: the section, the summary, the lesson's name, the note, the source.
    assert shown(parts["claims"]).count(words) == 5
    assert words in shown(parts["ledger"])
