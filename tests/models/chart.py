"""A bar chart of ratios as SVG text: a bar a model, the line is where both take the same. Dark where the viewer is."""

import html
import math

ROW, LEFT, WIDTH, RIGHT = 18, 230, 520, 60
STYLE = """text { font: 12px sans-serif; fill: #222 } .line { stroke: #222 } .fast { fill: #2a8f5b } .slow { fill: #c9503c }
@media (prefers-color-scheme: dark) { text { fill: #ddd } .line { stroke: #ddd } .back { fill: #161b22 } }"""


def bar(row, index, scale):
    y, length = 40 + index * ROW, max(1.0, min(row["ratio"], scale) / scale * WIDTH)
    kind = "fast" if row["ratio"] <= 1 else "slow"
    return (f'<text x="{LEFT - 8}" y="{y + 12}" text-anchor="end">{html.escape(row["model"])}</text>'
            f'<rect class="{kind}" x="{LEFT}" y="{y + 2}" width="{length:.1f}" height="{ROW - 4}"/>'
            f'<text x="{LEFT + length + 5:.1f}" y="{y + 12}">{row["ratio"]:.2f}</text>')


def chart(rows, title):
    """The text of a file; bars longer than three are cut."""
    rows = sorted(rows, key=lambda row: row["ratio"], reverse=True)
    scale = min(3.0, max(1.25, math.ceil(4 * rows[0]["ratio"]) / 4))
    height, one = 50 + ROW * len(rows), LEFT + WIDTH / scale
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + RIGHT} {height}">', f"<style>{STYLE}</style>",
        f'<rect class="back" width="100%" height="100%" fill="none"/><text x="8" y="20">{html.escape(title)}</text>',
        *(bar(row, index, scale) for index, row in enumerate(rows)),
        f'<line class="line" x1="{one:.1f}" x2="{one:.1f}" y1="32" y2="{height - 6}"/>', "</svg>", ""])
