"""The proof: one signed file with a report and all it stands on, and its check.

- `export`: `export_proof(report, snapshots, plan=…, audits=…, approvals=…, signer=…,
  created_at=…)` → bytes
- `check`: `verify_proof(data, expected_key=…)` → `Verification` with one `Check` a part
- `signing`: `Signer.from_file(path)`, `Signer.generate()`, `fingerprint(key)`
- `page`: `verifier_page()` → the verifier for browsers, one HTML file
"""
