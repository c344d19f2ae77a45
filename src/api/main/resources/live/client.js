import {askJson} from './api.js';
import {fill, h, isInUse, say, stacked, table} from './dom.js';
import {clock, count, day, duration} from './format.js';
import {limitedClients, LimitedFigures, withoutEmpty} from './limited.js';
import {outcome, OUTCOMES, REASONS, why} from './outcomes.js';
import {limit, shared, whoHolds} from './shared.js';
import {rangePicker} from './timerange.js';

const AGAIN_MS = 3000;
const MOST = 50;
const RECENT_EVERY = 20;

/** The usage of one client, and the recent decisions on its requests; without a client, the recent ones. */
export function clientView([client = ''], stream) {
  const field = h('input', {id: 'client', name: 'client', value: client, maxlength: 512, autocomplete: 'off', spellcheck: 'false', required: true});
  const form = h('form.row', {onsubmit: event => {
    event.preventDefault();
    location.hash = `#/client/${encodeURIComponent(field.value)}`;
  }}, h('label', {for: 'client'}, 'Client'), field, h('button.main', {type: 'submit'}, 'Show'));
  const root = h('div', h('h1', 'Client'), form);
  if (client === '') {
    return recentView(root, stream);
  }

  const filter = new Filter(['outcome', 'reason', 'policy', 'tier'], () => askDecisions());
  const usage = h('div', h('p.empty', 'Loading.'));
  const reservations = h('div', h('p.empty', 'Loading.'));
  const decisions = h('div', h('p.empty', 'Loading.'));
  const read = h('p.note');
  root.append(
      h('h2.name', client),
      h('section.card', h('h2', 'Usage by limit'), usage),
      h('section.card', h('h2', 'Open reservations'), reservations),
      h('section.card', h('h2', 'Recent decisions'), filter.root, read, decisions));

  const abort = new AbortController();
  const name = encodeURIComponent(client);
  const known = new Map();
  let rounds = 0;
  let timer = null;
  const askDecisions = () => {
    const query = String(new URLSearchParams({most: MOST, ...filter.values}));
    return show(decisions, `/v1/decisions/${name}?${query}`, answer => {
      if (query !== String(new URLSearchParams({most: MOST, ...filter.values}))) {
        return null; // the filter was changed meanwhile
      }
      say(read, answer.since === null ? '' : `among the last ${count(answer.read)} records of the client’s partition, since ${day(answer.since)}`);
      return decisionTable(answer.decisions);
    }, abort.signal);
  };
  const ask = async () => {
    if (!document.hidden && !stream.isHeld) {
      const isWithRecent = rounds++ % RECENT_EVERY === 0; // reads the request topic
      await Promise.all([
        show(usage, `/v1/usage/${name}${isWithRecent ? '?recent=true' : ''}`,
            answer => usageList(merged(answer.usage, known, isWithRecent), abort.signal), abort.signal),
        show(reservations, `/v1/reservations/${name}?limit=${MOST}`, reservationTable, abort.signal),
        askDecisions(),
      ]);
    }
    if (!abort.signal.aborted) {
      timer = setTimeout(ask, AGAIN_MS);
    }
  };
  ask();
  return {
    title: client,
    root,
    close() {
      abort.abort();
      clearTimeout(timer);
    },
  };
}

async function show(place, path, draw, signal) {
  try {
    const answer = await askJson(path, {signal});
    const drawn = isInUse(place) ? null : await draw(answer);
    if (drawn !== null) {
      fill(place, drawn);
    }
  } catch (e) {
    if (!signal.aborted) {
      fill(place, h('p.fault', e.message));
    }
  }
}

/** Controls that select decisions. */
class Filter {
  #fields;

  /**
   * @param names some of `outcome`, `reason`, `policy` and `tier`
   * @param changed is called after each change
   */
  constructor(names, changed) {
    this.#fields = new Map(names.map(name => [name, this.#field(name, changed)]));
    this.root = h('div.row.filter', {role: 'group', 'aria-label': 'Filter'},
        [...this.#fields].map(([name, field]) => [h('label', {for: field.id}, name), field]));
  }

  #field(name, changed) {
    const id = `filter-${name}`;
    const words = {outcome: OUTCOMES.map(({key}) => key), reason: REASONS}[name];
    return words === undefined
        ? h('input', {id, type: 'search', maxlength: 256, autocomplete: 'off', spellcheck: 'false', onchange: changed})
        : h('select', {id, onchange: changed}, h('option', {value: ''}, 'all'), words.map(word => h('option', {value: word}, word)));
  }

  /** The values of the controls that are not empty, by name. */
  get values() {
    return withoutEmpty(Object.fromEntries([...this.#fields].map(([name, {value}]) => [name, value])));
  }
}

/** Without a client: the clients of the last decisions, and the most limited ones of the selected range. */
function recentView(root, stream) {
  const recent = h('div');
  const clients = h('div');
  const period = h('p.note');
  const limited = new LimitedFigures(stream, () => showLimited());
  const filter = new Filter(['reason', 'policy'], () => update());
  const picker = rangePicker(stream.timeRange, () => update());
  const showLimited = () => {
    say(period, `denied, delayed or expired ${limited.period}${limited.figures?.exact === false ? '; estimates' : ''}`);
    if (!isInUse(clients)) {
      fill(clients, limitedClients(limited));
    }
  };
  const update = () => {
    if (!isInUse(recent)) {
      fill(recent, recentClients(stream.now));
    }
    limited.refresh(filter.values);
    picker.show();
    showLimited();
  };
  root.append(
      h('p.empty', 'Enter the name of a client exactly as in its requests, or choose one.'),
      h('div.grid.halves',
          h('section.card', h('h2', 'Recent clients'), h('p.note', 'of the last decisions'), recent),
          h('section.card', h('h2', 'Most limited clients'), picker.root, filter.root, period, clients)));
  return {
    title: 'Client',
    root,
    update,
    close() {
      limited.close();
    },
  };
}

function recentClients(now) {
  if (now === null) {
    return h('p.empty', 'Waiting for the first figures.');
  }
  if (now.recentClients.length === 0) {
    return h('p.empty', 'No request has been decided since the start.');
  }
  return table('Recent clients, the latest first', [{name: 'client'}, {name: 'last decision'}],
      now.recentClients.map(({client, lastAt}) => [
        h('a', {href: `#/client/${encodeURIComponent(client)}`}, client),
        h('time', {datetime: new Date(lastAt).toISOString(), title: day(lastAt)}, clock(lastAt)),
      ]));
}

/** Returns the usage, and the policies that applied to recent requests, which only some answers have. */
function merged(usage, known, isComplete) {
  if (isComplete) {
    known.clear();
  }
  usage.forEach(one => known.set(JSON.stringify([one.policyId, one.key]), one));
  return [...known.values()].sort((a, b) => (a.policyId < b.policyId ? -1 : a.policyId > b.policyId ? 1 : 0));
}

async function usageList(usage, signal) {
  if (usage.length === 0) {
    return h('p.empty', 'No policy applies to this client, and it has no usage.');
  }
  const all = await Promise.all(usage.map(one => (typeof one.held === 'number' ? shared(one, signal) : one)));
  return h('ul.usages', all.map(({policyId, policyVersion, key, reserved, limits, holders, free}) => h('li',
      h('h3', h('a', {href: `#/policies/policy/${encodeURIComponent(policyId)}`}, policyId), h('small', ` version ${policyVersion}`),
          others(key), reserved > 0 && h('small.tag', `${count(reserved)} reserved, not settled`), holders ? h('small.tag', 'shared by all clients') : null),
      limits.length === 0 && !holders && h('p.note', 'It has no limits.'),
      limits.map(limit),
      holders ? whoHolds(holders, free) : null)));
}

/** Returns the key fields other than the client. */
function others(key) {
  return Object.entries(key)
      .filter(([name]) => name !== 'client')
      .map(([name, value]) => h('small.tag', `${name} ${value}`));
}

/** Returns the open reservations: what they use, since when, and when they end. */
function reservationTable({at, reservations, next}) {
  if (reservations.length === 0) {
    return h('p.empty', next === null ? 'None.' : 'There are none among the first ones, of which most were ended.');
  }
  return h('div', next === null ? null : h('p.note', `the first ${count(reservations.length)}`),
      stacked(table('Open reservations',
          [{name: 'request id'}, {name: 'cost', number: true}, {name: 'since'}, {name: 'ends in', number: true}, {name: 'holds'}],
          reservations.map(({requestId, cost, since, ends, policies}) => [
            h('span.request', requestId),
            count(cost),
            h('time', {datetime: new Date(since).toISOString(), title: day(since)}, clock(since)),
            duration(Math.max(0, ends - at)),
            policies.map(({policyId, key, observes, slotsUntil}) => h('div',
                h('a', {href: `#/policies/policy/${encodeURIComponent(policyId)}`}, policyId), others(key),
                h('small.tag', slotsUntil === null ? 'tokens' : 'slots'),
                observes && h('small.tag', 'observes'))),
          ]))));
}

function decisionTable(decisions) {
  if (decisions.length === 0) {
    return h('p.empty', 'There are no such decisions among these records.');
  }
  return stacked(table('Recent decisions, newest first',
      [{name: 'time'}, {name: 'outcome'}, {name: 'reason'}, {name: 'policy'}, {name: 'retry after', number: true}, {name: 'request id'}],
      decisions.map(decision => [
        h('time', {datetime: new Date(decision.decidedAt).toISOString(), title: day(decision.decidedAt)}, clock(decision.decidedAt)),
        outcome(decision.outcome),
        h('span.why', why(decision), h('small.code', decision.reason)),
        decision.policyId === null ? '–'
            : h('span.policy', h('a', {href: `#/policies/policy/${encodeURIComponent(decision.policyId)}`}, decision.policyId),
                h('small', ` v${decision.policyVersion}`)),
        decision.outcome !== 'DENIED' ? '' : decision.retryAfterMs === null ? 'never' : duration(decision.retryAfterMs),
        h('span.request', decision.requestId),
      ])));
}
