"""How long until Stretto answers, and what does it load?

    python benchmarks/start.py [--rounds 9] [--json]

Every measurement is a new Python process. The peer of `import stretto` is `import torch`, which it must not load.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from comparison import Figure, alternate, arguments, show

JOB = Path(__file__).resolve().parent.parent / "examples" / "jobs" / "digits.yaml"


def timed(*command: str) -> float:
    """The seconds of one command."""
    start = time.perf_counter()
    subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    """Measure importing and checking."""
    chosen = arguments(__doc__ or "", rounds=9)
    loaded = "import sys, stretto, stretto.job, stretto.launch; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", loaded], check=True)
    imported, torch = alternate(
        chosen.rounds, lambda: timed("-c", "import stretto"), lambda: timed("-c", "import torch")
    )
    checked = [timed("-m", "stretto", "check", str(JOB)) for _ in range(chosen.rounds)]
    show(
        [
            Figure(name="import_stretto", unit="s", goal="ours <= 0.3", ours=imported, peer=torch),
            Figure(name="stretto_check", unit="s", goal="ours <= 0.5", ours=checked, peer=[]),
        ],
        chosen.json,
    )


if __name__ == "__main__":
    main()
