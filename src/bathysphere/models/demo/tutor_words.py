"""Texts of the tutor's tour; `tutor_tour.py` decides when each is used.

Each text without a tool call has the form of the move that was chosen for it.
"""

WELCOME = """Welcome aboard. I am `demo:tour`: a script, not an AI. No model is set up yet, so I \
show what the tutor does here, with its real tools, and I do not understand what you type.

"""
FIRST_MOVE = ("ask_premise", "every turn begins with a move; this is how it is shown")
NEXT_MOVE = ("work", "the tour continues")

PLAN = "Longer work starts with a plan, which stays visible and is ticked off."
TODOS = (
    "Make a note of my own",
    "Look at your files",
    "Put your claim on a map and ask about it",
    "Propose a document and a change",
)
NOTES = "/scratch/tour.md"
NOTE = """The tutor has its own files, separate from yours, which it may change without asking. I \
make a note in one."""
NOTED = "The user came to see the tour."
TICK_OFF = "I tick off the finished steps."

LIST = """The tutor works on your own files, on your device. I ask your device for a list."""
NOTHING = """Your device shares no document with me, so I continue without one. Share one and \
start again to see how it is read in place, and changed only as you accept.

"""
READ = """I read the first of them. What I read leaves your device, so it is logged in a record \
that you can see."""
CLAIM = """Your argument is kept as a map. I add what you typed to it as a claim, in your own \
words; it counts only when you accept it."""
QUOTE = """Evidence is quoted verbatim, and your device checks that the words are in the file. I \
quote a line of it."""
EVIDENCE = "One of your documents contains these words."
ASK = "A tutor asks more than it tells, one question per turn."
QUESTION = "What does your claim rest on?"
PREMISE = "Your answer is added to the map too, under the claim."
REVIEW = "Now I ask which of these you agree with. Nobody but you can accept them."
WRITE = """A tutor may propose a document. You see all of it first, and accept, edit or reject \
it. Here is one."""
PATCH = """And it may propose a change, which you see in parts. Try to accept one part and \
reject the other: the agent is told what was actually written."""

TITLE = "tour-of-the-tutor"
DOCUMENT = """# A note from the tour

The tutor tells you what to think.

You keep the map of your argument.

The tutor decides what is in it.
"""
CHANGED = """# A note from the tour

The tutor asks you what you think.

You keep the map of your argument.

You decide what is in it.
"""
DESCRIPTION = "A note for trying changes."
CHANGE = "Correct who decides."

NOT_DONE = """That did not happen: {reason}
That ends nothing. An agent is told, and continues from there; so do I.

"""
THE_END = "That was the tour of the tutor. You saw:\n"
WHAT_NOW = """Now look at the map, where you decide what you agree with. The record shows what \
left this device.

To talk to a real model, set `BATHYSPHERE_MODEL_MAIN`, for example to \
`anthropic:claude-sonnet-4-6` or `ollama:qwen3`, and start again."""
SUMMARY = f"{THE_END}{{seen}}\n\n{WHAT_NOW}"
AFTERWARDS = f"""I am still `demo:tour`, a script: I cannot answer that, or anything else. The \
tour in this conversation is over. {WHAT_NOW}"""
SEEN = {
    "plan": "a plan",
    "note": "a note in the tutor's own files",
    "list": "your files listed, on your device",
    "read": "one of them read, and that logged",
    "claim": "your claim on a map",
    "quote": "a quote, checked against the file",
    "ask": "a question, and your answer",
    "review": "nodes that you accept or reject",
    "write": "a new document that you decide on",
    "patch": "a change that you decide on, part by part",
}
FAILED = "{what}: requested, but not done"
MISSING = "{what}: not this time"
