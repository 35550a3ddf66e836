"""Search by meaning in Python, with the weights that the browser has; and a small labelled set."""

from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

MAX_TOKENS = 256

NOTES = {
    "tides": "The pull of the moon raises the sea twice a day.",
    "bread": "Flour, water, salt and a spoon of yeast rest overnight before the oven is lit.",
    "glow": "Many creatures of the abyss shine by a chemical reaction in the skin.",
    "bathysphere": "A steel ball on a cable took two men down to 923 metres in 1934.",
    "pressure": "Every ten metres of water weigh as much as all the air above them.",
    "inflation": "When money is printed faster than goods are made, prices rise.",
    "gold": "In 1971 the dollar stopped being exchangeable for gold.",
    "trust": "A banknote is worth something because strangers will take it tomorrow.",
    "chess": "The queen moves in any direction, the knight jumps over others.",
    "sleep": "Adults who rest less than six hours remember less of what they studied.",
    "vaccine": "A harmless piece of the germ teaches the body to recognise the real one.",
    "plague": "Ships brought rats, rats brought fleas, and a third of the town was dead by spring.",
    "printing": "Movable type made books cheap enough for a shoemaker.",
    "steam": "Boiling water pushed pistons, and pistons pushed looms and trains.",
    "rail": "Once trains ran by timetable, every village needed the same clock.",
    "violin": "The bow's hair grips the string and lets it go hundreds of times a second.",
    "colour": "Grass looks green because it throws back that part of the light.",
    "whales": "Sperm whales hold their breath for over an hour while they hunt squid.",
    "coral": "Warm summers make the reef lose its algae and turn white.",
    "volcano": "Molten rock breaks through where two plates of the crust drift apart.",
    "democracy": "Each citizen has one vote, and the losers accept the count.",
    "jury": "Twelve people from the street decide whether the accused did it.",
    "rent": "The landlord asks for three months in advance and a letter from the employer.",
    "debt": "Whoever borrows at nine per cent owes twice as much after eight years.",
    "garden": "Beans climb the maize, and squash keeps the ground wet below.",
    "bees": "A worker dances to tell her sisters where the blossoms are.",
    "desert": "It has not rained on that plain for four hundred years.",
    "arctic": "Polar bears swim farther each year because the floes melt early.",
    "radio": "Waves bounce off the upper air and reach ships beyond the horizon.",
    "stars": "Sailors found their way by the height of the pole star.",
    "proof": "No largest prime exists: multiply them all, add one, and look for a divisor.",
    "memory": "We do not replay the past, we rebuild it each time, with mistakes.",
}
QUERIES = {
    "animals that produce their own light": "glow",
    "why do prices go up": "inflation",
    "how deep did the first divers in a sphere go": "bathysphere",
    "immunisation against disease": "vaccine",
    "insects communicating the location of food": "bees",
    "what makes a currency valuable": "trust",
    "navigation at night before compasses": "stars",
    "bleaching caused by climate change": "coral",
    "compound interest": "debt",
    "false recollections of events": "memory",
}


class Reference:
    """The same weights in Python: one text at a time, the mean of its pieces, of length one."""

    def __init__(self, folder: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._session = onnxruntime.InferenceSession(str(folder / "model_quantized.onnx"))

    def embed(self, text: str) -> np.ndarray:
        ids = np.array([self._tokenizer.encode(text).ids], dtype=np.int64)
        feed = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        mean = self._session.run(None, feed)[0][0].mean(axis=0)
        return mean / np.linalg.norm(mean)

    def scores(self, query: str, notes: dict[str, str]) -> dict[str, float]:
        """How near each note is, nearest first."""
        wanted = self.embed(query)
        near = {title: float(self.embed(text) @ wanted) for title, text in notes.items()}
        return dict(sorted(near.items(), key=lambda row: -row[1]))
