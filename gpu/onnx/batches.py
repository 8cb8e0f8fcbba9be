"""Batches: frames of several requests go to the device together."""

import asyncio
import contextlib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

# One batch computes while the next one is copied together.
IN_FLIGHT = 2


@dataclass(eq=False)
class Item:
    key: Any
    value: Any
    due: float  # on the clock of the event loop
    future: asyncio.Future


class Batcher:
    """Collects items with equal keys. A batch leaves when the largest size is reached or its
    first item has waited wait_s. Its size is the largest of sizes that the items fill, so that a
    compiled model sees few sizes. The caller bounds the number of items."""

    def __init__(self, run, sizes, wait_s):
        """run(key, items) returns a result for each item. It is called in up to IN_FLIGHT threads."""
        self._run, self._wait_s = run, wait_s
        self._sizes = sorted({1, *sizes}, reverse=True)
        self._waiting = []
        self._arrived = asyncio.Event()
        self._device = ThreadPoolExecutor(IN_FLIGHT, "device")
        self._free = asyncio.Semaphore(IN_FLIGHT)
        self._running = set()
        self._loop = asyncio.get_running_loop()
        self.formed = Counter()  # batches by size
        self._task = asyncio.create_task(self._dispatch())

    async def close(self):
        self._task.cancel()
        await asyncio.gather(self._task, *self._running, return_exceptions=True)
        self._device.shutdown()

    async def submit(self, key, value):
        """Returns the result of an item."""
        future = self._loop.create_future()
        self._waiting.append(Item(key, value, self._loop.time() + self._wait_s, future))
        self._arrived.set()
        return await future

    async def _dispatch(self):
        while True:
            await self._free.acquire()
            batch = await self._next()
            self.formed[len(batch)] += 1
            task = asyncio.create_task(self._compute(batch))
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def _next(self):
        """Waits for the next batch, and takes it out of the queue."""
        while True:
            # The client of a canceled item has left.
            self._waiting = [item for item in self._waiting if not item.future.done()]
            self._arrived.clear()
            if not self._waiting:
                await self._arrived.wait()
                continue
            first = self._waiting[0]
            same = [item for item in self._waiting if item.key == first.key]
            left = first.due - self._loop.time()
            if len(same) < self._sizes[0] and left > 0:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._arrived.wait(), left)
                continue
            batch = same[: next(size for size in self._sizes if size <= len(same))]
            self._waiting = [item for item in self._waiting if item not in batch]
            return batch

    async def _compute(self, batch):
        try:
            values = [item.value for item in batch]
            results = await self._loop.run_in_executor(self._device, self._run, batch[0].key, values)
            for item, result in zip(batch, results):
                if not item.future.done():
                    item.future.set_result(result)
        except Exception as error:
            for item in batch:
                if not item.future.done():
                    item.future.set_exception(error)
        finally:
            self._free.release()
