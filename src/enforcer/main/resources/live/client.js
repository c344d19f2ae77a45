import {askJson} from './api.js';
import {fill, h, isInUse, say, table} from './dom.js';
import {clock, count, day, duration} from './format.js';
import {outcome, why} from './outcomes.js';
import {limit, shared, whoHolds} from './shared.js';

const AGAIN_MS = 3000;

/** The usage of one client, and the recent decisions on its requests. */
export function clientView([client = '']) {
  const field = h('input', {id: 'client', name: 'client', value: client, maxlength: 512, autocomplete: 'off', spellcheck: 'false', required: true});
  const form = h('form.row', {onsubmit: event => {
    event.preventDefault();
    location.hash = `#/client/${encodeURIComponent(field.value)}`;
  }}, h('label', {for: 'client'}, 'Client'), field, h('button.main', {type: 'submit'}, 'Show'));
  const root = h('div', h('h1', 'Client'), form);
  if (client === '') {
    root.append(h('p.empty', 'Enter the name of a client exactly as in its requests, or follow a link from the overview.'));
    return {title: 'Client', root, close() {}};
  }

  const usage = h('div', h('p.empty', 'Loading.'));
  const decisions = h('div', h('p.empty', 'Loading.'));
  const read = h('p.note');
  root.append(
      h('h2.name', client),
      h('section.card', h('h2', 'Usage by limit'), usage),
      h('section.card', h('h2', 'Recent decisions'), read, decisions));

  const abort = new AbortController();
  const name = encodeURIComponent(client);
  let timer = null;
  const ask = async () => {
    if (!document.hidden) {
      await Promise.all([
        show(usage, `/v1/usage/${name}`, answer => usageList(answer, abort.signal), abort.signal),
        show(decisions, `/v1/decisions/${name}?most=50`, answer => {
          say(read, answer.since === null ? '' : `among the last ${count(answer.read)} records of the client’s partition, since ${day(answer.since)}`);
          return decisionTable(answer.decisions);
        }, abort.signal),
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
    if (!isInUse(place)) {
      fill(place, await draw(answer));
    }
  } catch (e) {
    if (!signal.aborted) {
      fill(place, h('p.fault', e.message));
    }
  }
}

async function usageList({usage}, signal) {
  if (usage.length === 0) {
    return h('p.empty', 'No policy applies to this client, and it has no usage.');
  }
  const all = await Promise.all(usage.map(one => (typeof one.held === 'number' ? shared(one, signal) : one)));
  return h('ul.usages', all.map(({policyId, policyVersion, key, limits, holders, free}) => h('li',
      h('h3', h('a', {href: `#/policies/policy/${encodeURIComponent(policyId)}`}, policyId), h('small', ` version ${policyVersion}`),
          others(key), holders ? h('small.tag', 'shared by all clients') : null),
      limits.map(limit),
      holders ? whoHolds(holders, free) : null)));
}

/** Returns the key fields other than the client. */
function others(key) {
  return Object.entries(key)
      .filter(([name]) => name !== 'client')
      .map(([name, value]) => h('small.tag', `${name} ${value}`));
}

function decisionTable(decisions) {
  if (decisions.length === 0) {
    return h('p.empty', 'There are no decisions among these records.');
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

/** Marks a table whose cells are stacked on narrow screens. */
function stacked(table) {
  table.classList.add('stacked');
  return table;
}
