"""What the tour says where the agent is a tutor. Words only: `tutor_tour.py` decides when.

Each text that goes with no tool call has the form of the move that was picked for it.
"""

WELCOME = """Welcome aboard. I am `demo:tour`: a script, not an AI. No model is set up yet, so I \
show what the tutor does here, with its real tools, and I do not understand what you type.

"""
FIRST_MOVE = ("ask_premise", "every turn begins with a move; this is how it is shown")
NEXT_MOVE = ("work", "the tour goes on")

PLAN = "Longer work starts with a plan, which stays in sight and is ticked off."
TODOS = (
    "Make a note of my own",
    "Look at your files",
    "Put your claim on a map and ask about it",
    "Propose a document and a change",
)
NOTES = "/scratch/tour.md"
NOTE = """The tutor has files of its own, apart from yours, for which it asks nobody. I make a \
note in one."""
NOTED = "The person came to see the tour."
TICK_OFF = "I tick off what was done."

LIST = """The tutor works on your own files, on your device. I ask your device what there is."""
NOTHING = """Your device shares nothing, so I go on without files. With `bathysphere chat tutor \
--files FOLDER` it shares the text files of one folder, and nothing else.

"""
READ = """I read the first of them. What I read leaves your device, so it is written down: \
`/disclosures` shows it."""
CLAIM = """What you argue is kept as a map. I put what you typed on it as a claim, in your own \
words; it counts only when you accept it."""
QUOTE = """Evidence is quoted to the letter, and your device checks that the words stand in the \
file. I quote a line of it."""
EVIDENCE = "A document of yours has these words."
ASK = "A tutor asks more than it tells, one question a turn."
QUESTION = "What does your claim rest on?"
PREMISE = "Your answer goes on the map too, under the claim."
REVIEW = "Now I ask which of these you stand by. Nobody but you can accept them."
WRITE = """A tutor may propose a document. You see all of it first, and accept, edit or refuse \
it. Here is one."""
PATCH = """And it may propose a change, which you see in parts. Try to accept one part and \
refuse the other: the agent is told what was really written."""

TITLE = "tour-of-the-tutor"
DOCUMENT = """# A note of the tour

The tutor tells you what to think.

You keep the map of your argument.

The tutor decides what stands in it.
"""
CHANGED = """# A note of the tour

The tutor asks you what you think.

You keep the map of your argument.

You decide what stands in it.
"""
DESCRIPTION = "A note to try changes on."
CHANGE = "Put right who decides."

NOT_DONE = """That did not happen: {reason}
It ends nothing. An agent is told, and goes on from there; so do I.

"""
THE_END = "That was the tour of the tutor. You saw:\n"
WHAT_NOW = """Type `/map` to see your argument as a tree, `/accept 1` to stand by a node, \
`/disclosures` for what left this device, `/export map.md` to keep the map.

To talk to a real model, set `BATHYSPHERE_MODEL_MAIN`, for example to \
`anthropic:claude-sonnet-4-6` or `ollama:qwen3`, and start again; `bathysphere models` shows what \
this machine has."""
SUMMARY = f"{THE_END}{{seen}}\n\n{WHAT_NOW}"
AFTERWARDS = f"""I am still `demo:tour`, a script: I cannot answer that, or anything else. The \
tour in this conversation is over. {WHAT_NOW}"""
SEEN = {
    "plan": "a plan",
    "note": "a note in the tutor's own files",
    "list": "your files listed, on your device",
    "read": "one of them read, and that written down",
    "claim": "your claim on a map",
    "quote": "a quote, checked against the file",
    "ask": "a question, and your answer",
    "review": "nodes that you accept or refuse",
    "write": "a new document that you decide on",
    "patch": "a change that you decide on, part by part",
}
FAILED = "{what}: asked for, and not done"
MISSING = "{what}: not this time"
