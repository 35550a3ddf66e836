"""The proof: one signed file with a report and all its evidence, and its verification.

- `export`: `export_proof(report, snapshots, plan=…, audits=…, approvals=…, signer=…,
  created_at=…)` → bytes
- `check`: `verify_proof(data, expected_key=…)` → `Verification` with one `Check` per part
- `signing`: `Signer(read_key(path))`, `Signer.generate()`, `fingerprint(key)`
- `page`: `verifier_page()` → the verifier for browsers, one HTML file
"""
