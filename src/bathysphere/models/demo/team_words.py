"""Texts of the workspace agent's tour; `team_tour.py` decides when each is used."""

NOTES = "/tour/welcome.md"
TODOS = ("Start the file specialist", "Let you decide on its change")

WELCOME = """Welcome aboard. I am `demo:tour`: a script, not an AI. No model is set up yet, so I \
show how an agent works on a team's files, with its real tools, and I do not understand what you \
type.

"""
PLAN = "An agent starts with a plan. I write one now; it stays visible and is ticked off."
DELEGATE = """I have no file tools of my own. A specialist works on the team's files, so I \
delegate this."""
ERRAND = "Tour: write a welcome note for the team."
WRITE = f"""I write `{NOTES}`. Nothing is written in the team's files unless a person approves it, \
so this waits for you."""
NOTE = "# Welcome\n\nThis note was written in a tour. It can be undone in the record of changes.\n"
WRITTEN = f"The note is in `{NOTES}`."
NOT_WRITTEN = "Nothing was written: {reason}"
TICK_OFF = "I tick off the finished steps."

THE_END = "That was the tour of the team's files.\n"
SUMMARY = f"""{THE_END}
The specialist reports: {{report}}

Every change that a person approved is in the record of changes, with who approved it, and can be \
undone there.

To talk to a real model, whoever runs this server sets `BATHYSPHERE_MODEL_MAIN`."""
AFTERWARDS = """I am still `demo:tour`, a script: I cannot answer that, or anything else. The tour \
in this conversation is over; start a new one to see it again."""
