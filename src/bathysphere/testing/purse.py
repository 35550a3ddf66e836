"""An in-memory purse, for tests of paid agents without a ledger or a mint."""

from collections.abc import Callable

from bathysphere.core.errors import CallerError
from bathysphere.core.payments import Bill, Owed, Paid
from bathysphere.payments.pricing import Price


class NoToken(CallerError):
    """The text is not a token of this purse."""

    code = "no_token"


class MemoryPurse:
    """Keeps charges in a dictionary. A token is a text such as `worth 50`.

    `at` is called before and after each operation (`before charge`, `after complete`, …) and may
    raise to simulate a process that dies there.
    """

    def __init__(self, balance: int, price: Price | None = None) -> None:
        self.balance = balance
        self.price = price or Price(step=10)
        self.charges: dict[str, tuple[int, str, bytes | None]] = {}
        """Key → amount, status and answer."""
        self.tokens: set[str] = set()
        self.streamed: set[str] = set()
        """Keys of calls cancelled after part of their answer was streamed."""
        self.shortfall = 0
        """Cost of calls beyond their charges."""
        self.at: Callable[[str], None] = lambda _: None

    @property
    def spent(self) -> int:
        """Total of charges that were not voided."""
        return sum(amount for amount, status, _ in self.charges.values() if status != "voided")

    @property
    def statuses(self) -> list[str]:
        """The status of each charge, in order."""
        return [status for _, status, _ in self.charges.values()]

    @property
    def max_output(self) -> int | None:
        """Maximum number of output tokens that a charge covers."""
        return self.price.max_output

    def quote(self, tokens_in: Callable[[], int]) -> int:
        """The maximum cost of a call."""
        return self.price.quote(tokens_in)

    def cost(self, tokens_in: Callable[[], int], tokens_out: Callable[[], int]) -> int:
        """The actual cost of a call."""
        return self.price.cost(tokens_in, tokens_out)

    async def charge(self, key: str, amount: int) -> Paid | Owed:
        """Charge for a call, once per key."""
        self.at("before charge")
        known = self.charges.get(key)
        if known is None or known[1] == "voided":
            if self.balance < amount:
                return Owed(balance=self.balance, reason="insufficient")
            self.balance -= amount
            self.charges[key] = known = (amount, "captured", None)
        self.at("after charge")
        return Paid(balance=self.balance, spent=self.spent, answer=known[2])

    async def complete(self, key: str, amount: int, answer: bytes) -> Paid | Owed:
        """Record the answer and reduce the charge to at most `amount`."""
        self.at("before complete")
        reserved, status, known = self.charges[key]
        if status == "done":
            return Paid(balance=self.balance, spent=self.spent, answer=known)
        if status == "voided":
            return Owed(balance=self.balance, reason="voided")
        kept = min(amount, reserved)
        self.balance += reserved - kept
        self.shortfall += amount - kept
        self.charges[key] = (kept, "done", answer)
        self.at("after complete")
        return Paid(balance=self.balance, spent=self.spent)

    async def void(self, key: str) -> None:
        """Refund a charge."""
        amount, status, _ = self.charges[key]
        if status == "captured":
            self.balance += amount
            self.charges[key] = (amount, "voided", None)

    async def keep(self, key: str) -> None:
        """Keep the charge of a cancelled call."""
        amount, _, _ = self.charges[key]
        self.charges[key] = (amount, "kept", None)

    async def mark_streamed(self, key: str) -> None:
        """Remember that part of the answer was streamed."""
        self.streamed.add(key)

    async def deposit(self, token: str) -> int:
        """Redeem a token, once."""
        if not token.startswith("worth "):
            raise NoToken("Not a token")
        worth = 0 if token in self.tokens else int(token.removeprefix("worth "))
        self.tokens.add(token)
        self.balance += worth
        return worth

    async def bill(self, needed: int) -> Bill:
        """Payment details."""
        return Bill(suggested=max(100, needed), mint="http://mint", unit="sat", request="creqA")
