/**
 * The threads, with a bounded queue. One frame is one task. A thread gets its next frame
 * as soon as it returns the last one. So the frames of a request are spread over all threads,
 * and no thread is idle while there is work.
 */
import { EventEmitter } from 'node:events';
import { Worker } from 'node:worker_threads';
import { ProtocolError } from './protocol.js';

/**
 * @typedef {object} Task
 * @property {number} index of the frame in its request
 * @property {import('./thread.js').Work} work
 * @property {Promise<import('./thread.js').FrameResult>} promise
 * @property {(result: import('./thread.js').FrameResult) => void} resolve
 * @property {(err: Error) => void} reject
 */

/** Emits 'crash' with an error when a thread dies. The process should end then. */
export class Pool extends EventEmitter {
  /** @type {Worker[]} */
  #threads = [];
  /** @type {Worker[]} */
  #idle = [];
  /** @type {Task[]} */
  #queue = [];
  /** @type {Map<Worker, Task>} */
  #running = new Map();
  #capacity;
  #closed = false;

  /** @param {number} capacity frames that may wait, in addition to those in progress */
  constructor(capacity) {
    super();
    this.#capacity = capacity;
  }

  /**
   * @param {{threads: number, capacity: number, script?: URL}} options
   * @returns {Promise<Pool>} when every thread is warm
   */
  static async start({ threads, capacity, script = new URL('./thread.js', import.meta.url) }) {
    const pool = new Pool(capacity);
    await Promise.all(Array.from({ length: threads }, () => pool.#spawn(script)));
    return pool;
  }

  /** Number of threads. */
  get size() {
    return this.#threads.length;
  }

  /** True when the queue has no room. */
  get full() {
    return this.#queue.length >= this.#capacity;
  }

  /** @param {URL} script */
  #spawn(script) {
    // Only the line that announces the port may go to stdout.
    const thread = new Worker(script, { stdout: true });
    this.#threads.push(thread);
    return new Promise((resolve, reject) => {
      const fail = (err) => {
        if (this.#closed) return;
        reject(err);
        this.#running.get(thread)?.reject(err);
        this.emit('crash', err);
      };
      thread.on('error', fail);
      thread.on('exit', (code) => fail(new Error(`inference thread ended with code ${code}`)));
      thread.on('message', (message) => {
        if (message.ready) resolve(undefined);
        else this.#settle(thread, message);
        this.#next(thread);
      });
    });
  }

  /**
   * Runs the works and keeps their order. When one fails, or the signal fires, the
   * waiting ones are dropped.
   * @param {import('./thread.js').Work[]} works
   * @param {AbortSignal} signal
   * @returns {Promise<import('./thread.js').FrameResult[]>}
   * @throws {ProtocolError} 503 when they do not fit into the queue
   */
  async run(works, signal) {
    if (this.#closed || this.#queue.length + works.length > this.#capacity + this.#idle.length) {
      throw new ProtocolError(503, 'the queue is full');
    }
    const tasks = works.map((work, index) => {
      const { promise, resolve, reject } = withResolvers();
      return { index, work, promise, resolve, reject };
    });
    const drop = () => this.#drop(tasks);
    signal.addEventListener('abort', drop, { once: true });
    this.#queue.push(...tasks);
    for (const thread of this.#idle.splice(0)) this.#next(thread);
    try {
      return await Promise.all(tasks.map((task) => task.promise));
    } finally {
      signal.removeEventListener('abort', drop);
      drop();
    }
  }

  /**
   * Removes tasks from the queue that no thread has started.
   * @param {Task[]} tasks
   */
  #drop(tasks) {
    const dropped = new Set(tasks);
    this.#queue = this.#queue.filter((task) => !dropped.has(task));
    for (const task of tasks) task.reject(new Error('the request was dropped'));
  }

  /** @param {Worker} thread */
  #next(thread) {
    const task = this.#queue.shift();
    if (!task) {
      this.#idle.push(thread);
      return;
    }
    this.#running.set(thread, task);
    thread.postMessage(task.work);
  }

  /**
   * @param {Worker} thread
   * @param {{result?: import('./thread.js').FrameResult, error?: string}} message
   */
  #settle(thread, { result, error }) {
    const task = this.#running.get(thread);
    this.#running.delete(thread);
    if (error === undefined) task.resolve(result);
    else task.reject(new ProtocolError(400, `frame ${task.index}: ${error}`));
  }

  /** Ends the threads. Frames in progress fail. */
  async close() {
    this.#closed = true;
    const gone = new ProtocolError(503, 'the worker is shutting down');
    for (const task of [...this.#queue.splice(0), ...this.#running.values()]) task.reject(gone);
    await Promise.all(this.#threads.map((thread) => thread.terminate()));
  }
}

function withResolvers() {
  let resolve, reject;
  const promise = new Promise((...settle) => ([resolve, reject] = settle));
  return { promise, resolve, reject };
}
