"""The sealer: follows the log and seals it, batch by batch. Any number may run: one of them wins a batch."""

from __future__ import annotations

from holdfast.kernel.errors import StoreError
from holdfast.kernel.event import Event, leaf
from holdfast.kernel.proof.merkle import Accumulator, root
from holdfast.kernel.proof.seal import BATCH, NOTHING, Header, header_leaf, pack
from holdfast.store.port import Feed, SealRow, Store

LOOKS = 3
"""A gap in the log is passed at a later look, when every writer that could fill it has ended."""

RIVALS = 10
"""How often a sealer that others forestall tries again before it leaves the log to them."""


class Sealer:
    """Seals what the feed says is settled, so that a late commit never falls before a seal's end."""

    every_s = 2.0
    makes_work = False

    behind = False
    """Whether the last batch was a full one: then there is more."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._forget()

    def _forget(self) -> None:
        self._headers = Accumulator()
        self._head = NOTHING
        self._sealed_pos = 0
        self._feed: Feed | None = None

    async def run_once(self, now_ms: int | None = None) -> SealRow | None:
        """Seal the next batch; None when there is nothing that can be sealed yet."""
        for _ in range(RIVALS):
            await self._catch_up()
            events = await self._next()
            self.behind = len(events) == BATCH
            if not events:
                return None
            seal = await self._seal(events, await self._store.now_ms() if now_ms is None else now_ms)
            if await self._add(seal):
                return seal
        return None

    async def _add(self, seal: SealRow) -> bool:
        added = False
        try:
            added = await self._store.upkeep.add_seal(seal)
        finally:
            # Forestalled, or nobody knows: the next run starts from what is stored.
            if not added:
                self._forget()
        if added:
            self._head, self._sealed_pos = seal.head, seal.last_pos
        return added

    async def seal_all(self) -> list[SealRow]:
        """Seal what the log holds now, as far as it is settled; the new seals, without their manifests."""
        until = await self._store.reads.last_pos()
        seals: list[SealRow] = []
        while not seals or seals[-1].last_pos < until:
            seal = await self.run_once()
            if seal is None:
                break
            seals.append(seal._replace(manifest=None))
        return seals

    async def _catch_up(self) -> None:
        """Take in the seals that are not ours. StoreError when they do not hang together."""
        while headers := await self._store.reads.seal_headers(self._headers.size):
            for seal in headers:
                self._headers.append(header_leaf(seal))
            last = headers[-1]
            if last.number != self._headers.size or last.head != self._headers.root():
                self._forget()
                raise StoreError(
                    f"seal {last.number} does not follow from the seals before it",
                    remedy="run `holdfast audit` to see what was changed",
                )
            self._head, self._sealed_pos = last.head, last.last_pos

    async def _next(self) -> list[Event]:
        if self._feed is None or self._feed.position != self._sealed_pos:
            self._feed = self._store.log.feed(self._sealed_pos)
        for _ in range(LOOKS):
            if events := await self._feed.next(BATCH):
                return events
        return []

    async def _seal(self, events: list[Event], now_ms: int) -> SealRow:
        leaves = [leaf(event) for event in events]
        purge = await self._store.reads.last_purge()
        header = Header(
            number=self._headers.size + 1,
            first_pos=events[0].pos,
            last_pos=events[-1].pos,
            count=len(events),
            root=root(leaves),
            previous=self._head,
            purges=purge[1] if purge else NOTHING,
            sealed_at_ms=now_ms,
        )
        self._headers.append(header_leaf(header))
        manifest = pack(events, leaves)
        return SealRow(
            *header[:6], head=self._headers.root(), purges=header.purges, sealed_at_ms=now_ms, manifest=manifest
        )
