"""Texts of the tour; `tour.py` decides when each is used.

The tour also recognises by `ASKED` and `THE_END` that it asked and ended. Each contains a line
break, which a quote of the user's words never does.
"""

NOTES = "/tour/notes.md"
TODOS = (
    "Write a note to a file",
    "Read it back",
    "Ask you one question",
    "Change the note, if you allow it",
)

WELCOME = """Welcome aboard. I am `demo:tour`: a script, not an AI. No model is set up yet, so I \
show what an agent does here, with its real tools, and I do not understand what you type.

"""
PLAN = "An agent starts with a plan. I write one now; it stays visible and is ticked off."
WRITE = f"""Agents keep what they learn in files, so that it is not lost in a long conversation. \
I write `{NOTES}` in the agent's workspace."""
READ = "Now I read the note back, as an agent does before it changes a file."
ASK = "An agent that is unsure asks instead of guessing. Here is such a question."
QUESTION = "What would you like an agent to help you with?"
ASKED = f"\n\n{QUESTION}"
ASK_PLAINLY = f"{ASK}{ASKED} (Type an answer and the tour continues.)"
CHANGE = """Last, something an agent should not do on its own. I ask to put your answer into the \
note. Where an agent's changes are gated you decide first: approve it, edit it, or reject it."""
DELETE = """Last, something an agent should not do on its own. I ask to delete the note. Where an \
agent's deletions are gated you decide first: approve it, or reject it."""
TICK_OFF = "I tick off the finished steps."

NOT_DONE = """That did not happen: {reason}
That ends nothing. An agent is told, and continues from there; so do I.

"""
THANKS = "You answered: {answer}\n\n"

NOTE = """# Notes from the tour

You wrote: {asked}
{gap}
"""
GAP = "Your answer goes here."
ANSWERED = "Your answer: {answer}"
NO_ANSWER = "(none)"

THE_END = "That was the tour. You saw:\n"
SUMMARY = f"""{THE_END}{{seen}}

To talk to a real model:
1. `bathysphere models` shows what this machine has and what each model needs.
2. Set `BATHYSPHERE_MODEL_MAIN`, for example to `anthropic:claude-sonnet-4-6` or `ollama:qwen3`. \
With no key, `bathysphere models pull` downloads a small model to try.
3. Start again."""
SEEN = {
    "plan": "a plan that is ticked off as work proceeds",
    "write": "a file written",
    "read": "the file read back",
    "ask": "a question, and your answer",
    "change": "a change that could need your approval",
}
MISSING = "{what}: not here, this agent has no tool for it"
FAILED = "{what}: requested, but not done"

AFTERWARDS = """I am still `demo:tour`, a script: I cannot answer that, or anything else. The tour \
in this conversation is over. Set `BATHYSPHERE_MODEL_MAIN` to a real model (`bathysphere models` \
lists them) and ask again, or start a new conversation to see the tour again."""
NO_TOOLS = """I am `demo:tour`: a script, not an AI. I can only walk through an agent's tools, and \
none were given to me here. Set `BATHYSPHERE_MODEL_MAIN` to a real model (`bathysphere models` \
lists them)."""
