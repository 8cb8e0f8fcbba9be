/**
 * The threads and the bounded queue in front of them. One frame is one task; a
 * thread gets its next frame the moment it hands back the last one, so frames of one
 * request spread over all threads and no thread waits while there is work.
 */
import { EventEmitter } from 'node:events';
import { Worker } from 'node:worker_threads';
import { ProtocolError } from './protocol.js';

/**
 * @typedef {object} Task
 * @property {number} index of the frame in its request
 * @property {import('./thread.js').Work} work
 * @property {Promise<import('./thread.js').Look>} promise
 * @property {(look: import('./thread.js').Look) => void} resolve
 * @property {(err: Error) => void} reject
 */

/** Emits 'crash' with an error when a thread dies: the process should then end. */
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

  /** @param {number} capacity frames that may wait, beyond those being worked on */
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

  /** True when no further frame can wait. */
  get full() {
    return this.#queue.length >= this.#capacity;
  }

  /** @param {URL} script */
  #spawn(script) {
    // stdout carries the line that announces the port and nothing else.
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
   * Runs the works and keeps their order. When one fails, or the signal fires, those
   * still waiting are dropped.
   * @param {import('./thread.js').Work[]} works
   * @param {AbortSignal} signal
   * @returns {Promise<import('./thread.js').Look[]>}
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
   * Takes tasks that no thread has begun out of the queue.
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
   * @param {{look?: import('./thread.js').Look, error?: string}} message
   */
  #settle(thread, { look, error }) {
    const task = this.#running.get(thread);
    this.#running.delete(thread);
    if (error === undefined) task.resolve(look);
    else task.reject(new ProtocolError(400, `frame ${task.index}: ${error}`));
  }

  /** Ends the threads; frames under way fail. */
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
