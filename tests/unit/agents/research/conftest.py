"""The rig and the benchmark are modules beside the tests."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[4]
sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(ROOT / "benchmarks" / "quality" / "research"))
