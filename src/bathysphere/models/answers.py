"""What a person answered or decided, in the result of the tool that asked them."""

ANSWER = "answer"
"""The key of the answer in a result's `additional_kwargs`."""

DECISIONS = "decisions"
"""The key of a list of decisions about file changes: of each its type, call, path and lines."""

PROPOSAL = "proposal"
"""The key of what became of a proposal for a person's document: `status`, `file_id`, `version`."""
