"""`bathysphere verify`: check a proof; no network, no server, no model."""

import argparse
import sys
from pathlib import Path

from bathysphere.core.errors import CallerError

HELP = "check an exported report: quotes, sources, plan and signature, offline"

SIGNS = {"passed": "ok", "failed": "FAILED", "not_made": "-"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the file, and what may be known of its key."""
    parser.add_argument("file", nargs="?", type=Path, help="the exported proof, a .zip file")
    parser.add_argument("--key", help="the public key it must be signed by: 64 hex digits")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument(
        "--page", type=Path, metavar="FILE", help="write the verifier for browsers to FILE"
    )


def run(args: argparse.Namespace) -> int:
    """Check the file: 0 if it holds, 1 if not, 2 if it cannot be read."""
    if args.page is not None:
        return _write_page(args.page)
    if args.file is None:
        raise CallerError("there is no file to check", hint="bathysphere verify report.zip")
    from bathysphere.evidence.proof.check import verify_proof

    try:
        data = args.file.read_bytes()
    except OSError as error:
        print(f"error: {args.file} cannot be read: {error.strerror}", file=sys.stderr)
        return 2
    result = verify_proof(data, expected_key=args.key)
    if args.json:
        print(result.model_dump_json())
        return 0 if result.ok else 1
    for check in result.checks:
        print(f"  {SIGNS[check.state]:<7} {check.name:<10} {check.detail}")
    if not result.ok:
        print(f"{args.file}: this proof does NOT hold")
        return 1
    print(
        f"{args.file}: holds. {result.claims} claims ({result.unsupported} marked unsupported), "
        f"{result.quotes} quotes, {result.sources} sources; made {result.created_at}"
    )
    known = "as expected" if args.key else "whose it is, only its owner can tell you"
    print(f"signed by {result.public_key} ({result.fingerprint}): {known}")
    return 0


def _write_page(path: Path) -> int:
    from bathysphere.evidence.proof.page import verifier_page

    path.write_text(verifier_page(), encoding="utf-8")
    print(f"wrote {path}: open it in a browser")
    return 0
