"""`bathysphere verify`: verify an exported proof offline."""

import argparse
import sys
from pathlib import Path

from bathysphere.core.errors import CallerError
from bathysphere.core.words import count

HELP = "check an exported report: quotes, sources, plan and signature, offline"

SIGNS = {"passed": "ok", "failed": "FAILED", "not_made": "-"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the file and the key it should be signed with."""
    parser.add_argument("file", nargs="?", type=Path, help="the exported proof, a .zip file")
    parser.add_argument("--key", help="expected public key of the signer: 64 hex digits")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument(
        "--page", type=Path, metavar="FILE", help="write the browser verifier to FILE"
    )


def run(args: argparse.Namespace) -> int:
    """Verify the file: 0 if valid, 1 if not, 2 if unreadable."""
    if args.page is not None:
        return _write_page(args.page)
    if args.file is None:
        raise CallerError("Missing argument: FILE", hint="run `bathysphere verify report.zip`")
    from bathysphere.evidence.proof.check import verify_proof

    try:
        data = args.file.read_bytes()
    except OSError as error:
        print(f"error: Cannot read {args.file}: {error.strerror}", file=sys.stderr)
        print("hint: pass a .zip file written by an export or `research --out`", file=sys.stderr)
        return 2
    result = verify_proof(data, expected_key=args.key)
    if args.json:
        print(result.model_dump_json())
        return 0 if result.ok else 1
    if not result.is_proof:
        hint = "pass a .zip file written by an export or `research --out report.zip`"
        raise CallerError(f"Not a proof: {args.file}", hint=hint)
    for check in result.checks:
        detail = "not checked" if check.state == "not_made" else check.detail
        print(f"  {SIGNS[check.state]:<7} {check.name:<10} {detail}")
    if not result.ok:
        print(f"{args.file}: verification FAILED")
        return 1
    print(
        f"{args.file}: verified. {count(result.claims, 'claim')} ({result.unsupported} marked "
        f"unsupported), {count(result.quotes, 'quote')}, {count(result.sources, 'source')}; "
        f"created {result.created_at}"
    )
    known = "as expected" if args.key else "signer not verified (pass --key)"
    print(f"signed by {result.public_key} ({result.fingerprint}): {known}")
    return 0


def _write_page(path: Path) -> int:
    from bathysphere.evidence.proof.page import verifier_page

    path.write_text(verifier_page(), encoding="utf-8")
    print(f"Wrote {path}. Open it in a browser.")
    return 0
