"""Flip every byte of a large proof and verify it (`make tamper`). Last line: JSON."""

import argparse
import io
import json
import random
import sys
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "evidence"))

from evidence_pages import page
from proofs import APPROVALS, AUDITS, PLAN, SIGNER, WHEN, draft_of, read_pages

from bathysphere.evidence.archive import build_archive, read_archive
from bathysphere.evidence.proof.check import verify_proof
from bathysphere.evidence.proof.export import export_proof
from bathysphere.evidence.settle import settle
from bathysphere.evidence.snapshots import by_id


def large_proof(rng: random.Random) -> bytes:
    """A proof with snapshots of some thousand bytes each."""
    pages = read_pages()
    draft = draft_of(pages)
    pages += [
        page(
            " ".join(f"Sentence {rng.randrange(10**9)} of page {n}." for _ in range(150)),
            url=f"https://example.org/{n}",
        )
        for n in range(6)
    ]
    report = settle(draft, by_id(pages), question="How old?")
    return export_proof(
        report,
        pages,
        plan=PLAN,
        audits=AUDITS,
        approvals=APPROVALS,
        signer=SIGNER,
        created_at=WHEN,
    )


def parts_of(data: bytes) -> dict[str, range]:
    """The positions of each file, each header and the index."""
    parts = {}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for info in archive.infolist():
            start = info.header_offset + 30 + len(info.filename)
            parts[f"header:{info.filename}"] = range(info.header_offset, start)
            parts[info.filename] = range(start, start + info.file_size)
        parts["index"] = range(archive.start_dir, len(data))
    return parts


def mended(files: dict[str, bytes], name: str, body: bytes) -> bytes:
    """The archive with one file changed and its checksums corrected."""
    return build_archive(list((files | {name: body}).items()))


def main() -> int:
    """Flip bytes, verify, and count the changes that were accepted."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--positions", type=int, default=2_000, help="in each part")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    data = large_proof(rng)
    held = verify_proof(data).ok
    changed = bytearray(data)
    flipped, repaired, unnoticed, whole = 0, 0, [], 0
    parts = parts_of(data)
    files = dict(read_archive(data))
    for name, part in parts.items():
        places = rng.sample(part, min(len(part), args.positions))
        whole += len(places) == len(part)
        for place in places:
            before = changed[place]
            changed[place] ^= rng.randrange(1, 256)
            tries = [bytes(changed)]
            if name in files:
                tries.append(mended(files, name, bytes(changed[part.start : part.stop])))
            unnoticed += [[name, place] for data_ in tries if verify_proof(data_).ok]
            changed[place] = before
            flipped += 1
            repaired += len(tries) - 1
    result = {
        "bytes": len(data),
        "parts": len(parts),
        "parts_tried_whole": whole,
        "flipped": flipped,
        "flipped_and_archive_mended": repaired,
        "unnoticed": len(unnoticed),
        "original_holds": held and verify_proof(bytes(changed)).ok,
        "seed": args.seed,
    }
    sys.stdout.write(json.dumps(result) + "\n")
    return 0 if result["original_holds"] and not unnoticed else 1


if __name__ == "__main__":
    raise SystemExit(main())
