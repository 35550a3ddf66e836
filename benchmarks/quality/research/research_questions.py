"""Questions about the corpus, with their known answers."""

from dataclasses import dataclass

from research_corpus import SEED, STATIONS, Station, stations


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One question and its station."""

    station: Station

    @property
    def question(self) -> str:
        """The question."""
        name = self.station.name
        return (
            f"At what depth is the floor of Station {name}, how large is its crew in 2026,"
            f" and when was Station {name} opened?"
        )

    @property
    def answers(self) -> dict[str, str]:
        """The facts that a report must state, by topic."""
        s = self.station
        return {
            "depth": f"{s.depth:,} metres",
            "crew": f"crew of {s.crew} people",
            "opened": f"opened in {s.opened}",
        }

    @property
    def sides(self) -> tuple[str, str]:
        """The two values that the sources disagree about."""
        s = self.station
        return f"{s.depth:,} metres", f"{s.disputed_depth:,} metres"

    @property
    def outdated(self) -> str:
        """The outdated value."""
        return f"crew of {self.station.old_crew} people"


def cases(count: int = STATIONS, seed: int = SEED) -> list[Case]:
    """The questions, one per station."""
    return [Case(station=station) for station in stations(seed)][:count]
