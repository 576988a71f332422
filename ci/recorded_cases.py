"""The programs that `tenure run` is tested with, for the scripts that record them. Imported, not run."""

import os
import pathlib
import subprocess

root = pathlib.Path(__file__).resolve().parent.parent
target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", root / "target"))
cases = root / "crates/tenure-run/tests/cases"


def run(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, **options)


def arguments_of(parser):
    """The arguments, with those that all such scripts have. `tenure` is built unless it is named."""
    parser.add_argument("--tenure", type=pathlib.Path)
    parser.add_argument("cases", nargs="*")
    arguments = parser.parse_args()
    if not arguments.tenure:
        run("cargo", "build", "--quiet", "--release", "-p", "tenure-cli", cwd=root)
        arguments.tenure = target / "release/tenure"
    arguments.tenure = arguments.tenure.resolve()
    return arguments
