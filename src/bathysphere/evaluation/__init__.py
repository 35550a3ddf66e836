"""Evaluation of models on the agents: cases as data, checked by the state they end in.

`cases` reads the cases, `subjects` builds the agent under test, `play` runs a case, `checks` judges
its result. `inspect_tasks`, `runner` and `logs` hand all of it to `inspect_ai`, and need the extra
`eval`; `report` compares what they read.
"""
