// Workers that count in neighbouring elements of an array that they share.
import { isMainThread, Worker, workerData } from 'node:worker_threads'

function count(slots, own) {
  for (;;) Atomics.add(slots, own, 1)
}

if (isMainThread) {
  const slots = new Int32Array(new SharedArrayBuffer(8))
  for (const own of [0, 1]) new Worker(new URL(import.meta.url), { workerData: { slots, own } })
} else {
  count(workerData.slots, workerData.own)
}
