"""Shows how long files and functions are, and fails where something has outgrown one idea."""

from __future__ import annotations

import ast
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LONGEST_FILE_LINES = 400
LONGEST_FUNCTION_LINES = 70


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """Every function of a file with its lines of code, docstring left out."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            lines = (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0
            yield f"{path.relative_to(ROOT)}:{node.lineno} {node.name}", lines


def main() -> None:
    """Print the shape of the source and fail for what is too long."""
    files = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in (ROOT / "src").rglob("*.py")}
    lengths = [found for path in files for found in functions(path)]
    sizes = sorted(lines for _, lines in lengths)
    tests = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in (ROOT / "tests").rglob("*.py"))
    print(
        f"{len(files)} files, {sum(files.values())} lines, tests {tests / sum(files.values()):.2f} times as many; "
        f"{len(sizes)} functions, half under {statistics.median(sizes):.0f} lines, "
        f"nine of ten under {sizes[len(sizes) * 9 // 10]}"
    )
    long = [f"{path.name} has {lines} lines" for path, lines in files.items() if lines > LONGEST_FILE_LINES]
    long += [f"{name} has {lines} lines" for name, lines in lengths if lines > LONGEST_FUNCTION_LINES]
    if long:
        sys.exit("what second idea has moved in?\n" + "\n".join(long))


if __name__ == "__main__":
    main()
