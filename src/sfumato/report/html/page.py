"""Pages: a template filled in."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any

from sfumato.report.compare_table import FRONT, WORDS, counted, grid_of
from sfumato.report.comparison import RISKS, Comparison
from sfumato.report.html.charts import place_outcomes, plotly_script, risk_utility_map
from sfumato.report.html.sections import cells

_TEMPLATES = Path(__file__).parent / "templates"


def compare_page(comparison: Comparison) -> str:
    """The risk-utility map and its table."""
    chart = risk_utility_map(comparison)
    placed = [outcome for outcome, _ in place_outcomes(comparison)]
    return fill(
        "compare.html",
        comparison=comparison,
        grid=grid_of(comparison),
        counted=counted(comparison),
        front=FRONT,
        words=WORDS,
        risk=RISKS[comparison.risk].words,
        chart=chart,
        off_map=_some([o.label for o in comparison.outcomes if o.figures and o not in placed]),
        script=plotly_script() if chart else "",
    )


def _some(labels: list[str], most: int = 6) -> str:
    more = f" and {len(labels) - most} more" if len(labels) > most else ""
    return "; ".join(labels[:most]) + more


def fill(template: str, *, script: str, **content: Any) -> str:
    """A template with its content; `script` is what draws its charts, empty where it has none.

    Only scripts of ours run: the page's security policy names each by its hash, taken here of the
    scripts themselves and not of the page, so that whatever got into its text stays text.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["cells"] = cells
    own = ("sort.js", "draw.js") if script else ("sort.js",)
    # A browser reads every line end as \n, and takes the hash of what it read.
    scripts = [
        text.replace("\r\n", "\n").replace("\r", "\n")
        for text in (script, *((_TEMPLATES / name).read_text(encoding="utf-8") for name in own))
        if text
    ]
    hashes = [f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in scripts]
    return environment.get_template(template).render(
        **content, scripts=scripts, script_source=" ".join(hashes)
    )
