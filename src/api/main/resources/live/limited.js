import {askJson} from './api.js';
import {bar, h, table} from './dom.js';
import {clock, count, day} from './format.js';

const AGAIN_MS = 5000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const MOST = 10;

/** Who was limited in the selected range of the stream, and the results of the policies. */
export class LimitedFigures {
  /** The figures; null before the first response. */
  figures = null;
  /** Why there are no figures, or they are not new; empty if nothing is wrong. */
  trouble = '';
  #stream;
  #changed;
  #asked = '';
  #askedAt = -Infinity;
  #loads = 0;

  /** @param changed is called when there are new figures */
  constructor(stream, changed) {
    this.#stream = stream;
    this.#changed = changed;
  }

  /**
   * Asks for new figures if the last are not new, or are of another range or filter.
   *
   * @param filter `{client, policy, reason}`: each may be missing or empty
   */
  refresh(filter = {}) {
    const query = String(new URLSearchParams({
      minutes: this.#stream.timeRange.range.ms / MINUTE_MS, most: MOST, ...withoutEmpty(filter),
    }));
    const isOther = query !== this.#asked;
    if (isOther || performance.now() - this.#askedAt >= AGAIN_MS) {
      this.figures = isOther ? null : this.figures;
      this.#asked = query;
      this.#askedAt = performance.now();
      this.#load(query, ++this.#loads);
    }
  }

  async #load(query, load) {
    let figures = this.figures;
    let trouble = '';
    try {
      figures = await askJson(`/v1/live/limited?${query}`);
      trouble = figures.missing.length > 0 ? `The figures of ${figures.missing.join(', ')} are missing.` : '';
    } catch (e) {
      trouble = e.message;
    }
    if (load === this.#loads && !this.#stream.isHeld) {
      this.figures = figures;
      this.trouble = trouble;
      this.#changed();
    }
  }

  /** Returns which period the figures are of, as a sentence without a full stop. */
  get period() {
    const {range} = this.#stream.timeRange;
    const from = this.figures?.from;
    const since = from === undefined ? '' : `, since ${range.ms > HOUR_MS ? day(from) : clock(from)}`;
    return `in ${range.text}${since}`;
  }

  close() {
    this.#loads++; // a load that is under way has no effect
  }
}

/** Returns a filter as the parameters of a query. */
export function withoutEmpty(filter) {
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== '' && value !== undefined));
}

/** The clients whose requests were denied, delayed, or expired in a queue. */
export function limitedClients({figures, trouble}) {
  if (figures === null) {
    return h(trouble === '' ? 'p.empty' : 'p.fault', trouble === '' ? 'Waiting for the first figures.' : trouble);
  }
  if (figures.clients.length === 0) {
    return [fault(trouble), h('p.empty', 'No client was limited.')];
  }
  const most = figures.clients[0].requests;
  return [fault(trouble), table('The most limited clients',
      [{name: 'client'}, {name: 'policy'}, {name: 'reason'}, {name: 'requests', number: true}, {name: 'in proportion'}],
      figures.clients.map(({client, policy, reason, requests}) => [
        h('a', {href: `#/client/${encodeURIComponent(client)}`}, client), policyLink(policy), h('small.code', reason),
        count(requests), bar(requests / most, 'denied'),
      ]))];
}

/** The policies with most denials. */
export function denyingPolicies({figures, trouble}) {
  if (figures === null) {
    return h(trouble === '' ? 'p.empty' : 'p.fault', trouble === '' ? 'Waiting for the first figures.' : trouble);
  }
  if (figures.policies.length === 0) {
    return [fault(trouble), h('p.empty', 'There were no decisions.')];
  }
  return [fault(trouble), table('Policies with most denials',
      [{name: 'policy'}, {name: 'passed', number: true}, {name: 'queued', number: true}, {name: 'denied', number: true}, {name: 'share denied'}],
      figures.policies.map(({policy, allowed, queued, denied}) => [
        policyLink(policy), count(allowed), count(queued), count(denied),
        bar(denied / Math.max(1, allowed + queued + denied), 'denied'),
      ]))];
}

function fault(trouble) {
  return trouble !== '' && h('p.fault', trouble);
}

function policyLink(policy) {
  return /^\((none|other)\)$/.test(policy) ? policy : h('a', {href: `#/policies/policy/${encodeURIComponent(policy)}`}, policy);
}
