import {ask} from './api.js';
import {TimeRange} from './timerange.js';

const MOST_TICKS = 300;
const SPAN_MS = 300_000;
const MIN_WAIT_MS = 1000;
const MAX_WAIT_MS = 15_000;
const SILENCE_MS = 8000;
const HIDDEN_MS = 30_000;
const PAUSED = new Error('the page is hidden');

/**
 * The events of the live feed. `changed` is called after each event, and when the connection is lost; its parameter is false
 * if what is shown is the same. While the stream is held, it shows the state at the time at which it was held.
 *
 * The feed is read with fetch(), because an EventSource cannot send a token.
 */
export class Stream {
  isLive = false;
  /** Why the feed is not live; null before the first failure. */
  trouble = null;
  /** Whether the feed is paused until the page is visible. */
  isPaused = false;
  /** The number of consecutive ticks without the figures of an instance that responds. */
  incomplete = 0;
  timeRange = new TimeRange(this);

  #last = {ticks: [], now: null};
  #held = null;
  #changed;

  constructor(changed) {
    this.#changed = changed;
  }

  /** The seconds of the last five minutes, oldest first. */
  get ticks() {
    return this.#shown.ticks;
  }

  /** The present state; null before the first event. */
  get now() {
    return this.#shown.now;
  }

  get isHeld() {
    return this.#held !== null;
  }

  get #shown() {
    return this.#held ?? this.#last;
  }

  /** Holds the state that is shown, or shows the present one again. */
  hold(isHeld) {
    this.#held = isHeld ? this.#last : null;
    this.changed();
  }

  changed() {
    this.#changed();
  }

  get latest() {
    return this.ticks.at(-1) ?? null;
  }

  /** Reads while the page is visible, because a browser has few connections to a host for all its tabs. */
  async run() {
    for (let waitMs = MIN_WAIT_MS; ; waitMs = Math.min(MAX_WAIT_MS, waitMs * 2)) {
      const trouble = await this.#read();
      if (this.isLive) {
        waitMs = MIN_WAIT_MS;
      }
      this.isLive = false;
      if (trouble === PAUSED) {
        await this.#pause();
        continue;
      }
      this.trouble = trouble;
      this.#changed();
      await sleep(trouble.status === 401 ? null : waitMs, 'weir-token', 'pageshow');
    }
  }

  async #pause() {
    this.trouble = null;
    this.isPaused = true;
    this.#changed();
    while (document.hidden) {
      await sleep(null, 'visibilitychange');
    }
    this.isPaused = false;
    this.#changed();
  }

  /** @returns why the connection ended */
  async #read() {
    const abort = new AbortController();
    const leave = () => abort.abort(new Error('no events arrived'));
    let hidden = null;
    const look = () => {
      clearTimeout(hidden);
      hidden = document.hidden ? setTimeout(() => abort.abort(PAUSED), HIDDEN_MS) : null;
    };
    look();
    window.addEventListener('visibilitychange', look);
    // otherwise a page in the back/forward cache would continue to read
    window.addEventListener('pagehide', leave);
    let silence = setTimeout(leave, SILENCE_MS * 2);
    try {
      const response = await ask('/v1/live', {headers: {Accept: 'text/event-stream'}, signal: abort.signal});
      for await (const {event, data} of events(response.body)) {
        clearTimeout(silence);
        silence = setTimeout(leave, SILENCE_MS);
        this.#take(event, JSON.parse(data));
      }
      return new Error('the instance closed the connection');
    } catch (e) {
      return abort.signal.aborted ? abort.signal.reason
          : e instanceof TypeError ? new Error('the instance does not respond') : e;
    } finally {
      clearTimeout(silence);
      clearTimeout(hidden);
      window.removeEventListener('visibilitychange', look);
      window.removeEventListener('pagehide', leave);
      abort.abort();
    }
  }

  #take(event, value) {
    if (event === 'history') {
      this.#last = {...this.#last, ticks: value.slice(-MOST_TICKS)};
      this.incomplete = 0;
    } else if (event === 'tick') {
      const ticks = [...this.#last.ticks, value].slice(-MOST_TICKS).filter(({at}) => at > value.at - SPAN_MS);
      this.#last = {...this.#last, ticks};
      this.incomplete = value.instances < this.#answering() ? this.incomplete + 1 : 0;
    } else if (event === 'now') {
      this.#last = {...this.#last, now: value};
    } else {
      return;
    }
    this.isLive = true;
    this.trouble = null;
    this.timeRange.refresh();
    this.#changed(!this.isHeld);
  }

  #answering() {
    return (this.#last.now?.instances ?? []).filter(({health}) => health !== 'UNREACHABLE').length;
  }
}

/** Parses the events of a `text/event-stream`. */
async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const {value, done} = await reader.read();
    if (done) {
      return;
    }
    const blocks = (rest + value).replaceAll('\r\n', '\n').split('\n\n');
    rest = blocks.pop();
    for (const block of blocks) {
      const lines = block.split('\n');
      const data = field(lines, 'data');
      if (data !== '') {
        yield {event: field(lines, 'event') || 'message', data};
      }
    }
  }
}

function field(lines, name) {
  return lines
      .filter(line => line.startsWith(`${name}:`))
      .map(line => line.slice(name.length + 1).replace(/^ /, ''))
      .join('\n');
}

/** Waits for a time, or until one of the events. */
function sleep(ms, ...wakers) {
  return new Promise(resolve => {
    const wake = () => {
      clearTimeout(timer);
      wakers.forEach(event => window.removeEventListener(event, wake));
      resolve();
    };
    const timer = ms === null ? null : setTimeout(wake, ms);
    wakers.forEach(event => window.addEventListener(event, wake));
  });
}
