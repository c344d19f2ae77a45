import {ask} from './api.js';

const MOST_TICKS = 300;
const SPAN_MS = 300_000;
const MIN_WAIT_MS = 1000;
const MAX_WAIT_MS = 15_000;
const SILENCE_MS = 8000;
const HIDDEN_MS = 30_000;
const PAUSED = new Error('the page is hidden');

/**
 * What the service tells each second. `changed` is called after each event, and when the stream is lost.
 *
 * It is read by fetch(), since an EventSource cannot show a token.
 */
export class Stream {
  /** Oldest first, at most five minutes of them. */
  ticks = [];
  /** The picture of now, null until it came. */
  now = null;
  isLive = false;
  /** Why it is not live, null until it failed once. */
  trouble = null;
  /** Whether it waits for the page to be seen. */
  isPaused = false;
  /** How many ticks in a row were without the figures of an instance that answers. */
  incomplete = 0;

  #changed;

  constructor(changed) {
    this.#changed = changed;
  }

  get latest() {
    return this.ticks.at(-1) ?? null;
  }

  /** Reads on and on while the page is seen: a browser has few connections to a host, for all its tabs. */
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

  /** @returns why it ended */
  async #read() {
    const abort = new AbortController();
    const leave = () => abort.abort(new Error('nothing came any more'));
    let hidden = null;
    const look = () => {
      clearTimeout(hidden);
      hidden = document.hidden ? setTimeout(() => abort.abort(PAUSED), HIDDEN_MS) : null;
    };
    look();
    window.addEventListener('visibilitychange', look);
    // or a page that the browser keeps for later would go on reading
    window.addEventListener('pagehide', leave);
    let silence = setTimeout(leave, SILENCE_MS * 2);
    try {
      const response = await ask('/v1/live', {headers: {Accept: 'text/event-stream'}, signal: abort.signal});
      for await (const {event, data} of events(response.body)) {
        clearTimeout(silence);
        silence = setTimeout(leave, SILENCE_MS);
        this.#take(event, JSON.parse(data));
      }
      return new Error('the instance ended it');
    } catch (e) {
      return abort.signal.aborted ? abort.signal.reason
          : e instanceof TypeError ? new Error('the instance does not answer') : e;
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
      this.ticks = value.slice(-MOST_TICKS);
      this.incomplete = 0;
    } else if (event === 'tick') {
      this.ticks = [...this.ticks, value].slice(-MOST_TICKS).filter(({at}) => at > value.at - SPAN_MS);
      this.incomplete = value.instances < this.#answering() ? this.incomplete + 1 : 0;
    } else if (event === 'now') {
      this.now = value;
    } else {
      return;
    }
    this.isLive = true;
    this.trouble = null;
    this.#changed();
  }

  #answering() {
    return (this.now?.instances ?? []).filter(({health}) => health !== 'UNREACHABLE').length;
  }
}

/** The events of a `text/event-stream`. */
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

/** Waits for one of the events, and no longer than that. */
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
