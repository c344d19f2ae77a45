import {askJson} from './api.js';
import {h, say} from './dom.js';

const SECOND_MS = 1000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/**
 * The ranges of the charts: their length, the distance of points, the distance of ticks on the axis, and the length of a
 * row of the table.
 */
export const RANGES = [
  {name: '5m', text: 'the last five minutes', hours: 0, ms: 5 * MINUTE_MS, pointMs: SECOND_MS, tickMs: MINUTE_MS, rowMs: MINUTE_MS},
  {name: '1h', text: 'the last hour', hours: 1, ms: HOUR_MS, pointMs: MINUTE_MS, tickMs: 10 * MINUTE_MS, rowMs: 5 * MINUTE_MS},
  {name: '6h', text: 'the last 6 hours', hours: 6, ms: 6 * HOUR_MS, pointMs: MINUTE_MS, tickMs: HOUR_MS, rowMs: 30 * MINUTE_MS},
  {name: '24h', text: 'the last 24 hours', hours: 24, ms: 24 * HOUR_MS, pointMs: MINUTE_MS, tickMs: 4 * HOUR_MS, rowMs: HOUR_MS},
];

/** The points of the charts: the seconds of the stream, or minutes as means per second. One range is selected at a time. */
export class TimeRange {
  range = RANGES[0];
  /** Why the minutes cannot be shown, or which are missing; empty if nothing is wrong. */
  trouble = '';
  #stream;
  #minutes = [];
  #loadedAt = 0;
  #loads = 0;

  constructor(stream) {
    this.#stream = stream;
  }

  get points() {
    return this.range.hours === 0 ? this.#stream.ticks : this.#minutes;
  }

  /** Returns the time at the right end of the charts. */
  get end() {
    return this.#stream.latest?.at ?? Date.now();
  }

  select(range) {
    this.range = range;
    this.#minutes = [];
    this.#loadedAt = 0;
    this.trouble = '';
    this.#loads++; // a load that is under way is of the range before
    this.#loadNew();
  }

  /** Loads the minutes if there may be a new one, unless the stream is held. */
  refresh() {
    if (!this.#stream.isHeld) {
      this.#loadNew();
    }
  }

  #loadNew() {
    const minute = Math.floor(this.end / MINUTE_MS);
    if (this.range.hours > 0 && minute !== this.#loadedAt) {
      this.#loadedAt = minute;
      this.#load(++this.#loads);
    }
  }

  async #load(load) {
    try {
      const {minutes, missing} = await askJson(`/v1/live/history?hours=${this.range.hours}`);
      if (load === this.#loads) {
        this.#minutes = minutes.map(perSecond);
        this.trouble = missing.length > 0 ? `The history of ${missing.join(', ')} is missing.`
            : minutes.length === 0 ? 'There is no complete minute yet.' : '';
        this.#stream.changed();
      }
    } catch (e) {
      if (load === this.#loads) {
        this.trouble = `The history cannot be read: ${e.message}`;
        this.#stream.changed();
      }
    }
  }
}

/** Buttons that select the range, and the trouble with it. */
export function rangePicker(timeRange, changed) {
  const buttons = RANGES.map(range => h('button.quiet', {type: 'button', onclick: () => {
    timeRange.select(range);
    show();
    changed();
  }}, range.name));
  const trouble = h('span.fault', {role: 'status'});
  const show = () => {
    RANGES.forEach((range, i) => buttons[i].setAttribute('aria-pressed', String(range === timeRange.range)));
    say(trouble, timeRange.trouble);
  };
  show();
  return {root: h('div.row.ranges', {role: 'group', 'aria-label': 'Range of the charts'}, h('span.note', 'Last'), buttons, trouble), show};
}

/** Returns a minute with means per second in the place of counts. */
function perSecond(minute) {
  const seconds = MINUTE_MS / SECOND_MS;
  return {
    ...minute,
    decisions: Object.fromEntries(Object.entries(minute.decisions).map(([outcome, count]) => [outcome, count / seconds])),
    queues: minute.queues.map(queue => ({...queue, in: queue.in / seconds, out: queue.out / seconds})),
  };
}
