import {askJson} from './api.js';
import {fill, h, isInUse, say, table} from './dom.js';
import {clock, count, day, duration} from './format.js';
import {outcome, why} from './outcomes.js';
import {limit, shared, whoHolds} from './shared.js';

const AGAIN_MS = 3000;

/** What one client has used, and what was decided of it. */
export function clientView([client = '']) {
  const field = h('input', {id: 'client', name: 'client', value: client, maxlength: 512, autocomplete: 'off', spellcheck: 'false', required: true});
  const form = h('form.row', {onsubmit: event => {
    event.preventDefault();
    location.hash = `#/client/${encodeURIComponent(field.value)}`;
  }}, h('label', {for: 'client'}, 'Client'), field, h('button.main', {type: 'submit'}, 'Show'));
  const root = h('div', h('h1', 'Client'), form);
  if (client === '') {
    root.append(h('p.empty', 'Type a client’s name, exactly as requests have it; or follow one from the overview.'));
    return {title: 'Client', root, close() {}};
  }

  const usage = h('div', h('p.empty', 'Asking.'));
  const decisions = h('div', h('p.empty', 'Asking.'));
  const read = h('p.note');
  root.append(
      h('h2.name', client),
      h('section.card', h('h2', 'Used of each limit'), usage),
      h('section.card', h('h2', 'Last decisions'), read, decisions));

  const abort = new AbortController();
  const name = encodeURIComponent(client);
  let timer = null;
  const ask = async () => {
    if (!document.hidden) {
      await Promise.all([
        show(usage, `/v1/usage/${name}`, answer => usageList(answer, abort.signal), abort.signal),
        show(decisions, `/v1/decisions/${name}?most=50`, answer => {
          say(read, answer.since === null ? '' : `of the last ${count(answer.read)} records of its partition, since ${day(answer.since)}`);
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
    return h('p.empty', 'No policy applies to it, and it has used nothing.');
  }
  const all = await Promise.all(usage.map(one => (typeof one.held === 'number' ? shared(one, signal) : one)));
  return h('ul.usages', all.map(({policyId, policyVersion, key, limits, holders, free}) => h('li',
      h('h3', h('a', {href: `#/policies/policy/${encodeURIComponent(policyId)}`}, policyId), h('small', ` version ${policyVersion}`),
          others(key), holders ? h('small.tag', 'shared by all clients') : null),
      limits.map(limit),
      holders ? whoHolds(holders, free) : null)));
}

/** What is counted together beside the client. */
function others(key) {
  return Object.entries(key)
      .filter(([name]) => name !== 'client')
      .map(([name, value]) => h('small.tag', `${name} ${value}`));
}

function decisionTable(decisions) {
  if (decisions.length === 0) {
    return h('p.empty', 'None among those.');
  }
  return stacked(table('Its last decisions, newest first',
      [{name: 'at'}, {name: 'outcome'}, {name: 'why'}, {name: 'policy'}, {name: 'retry after', number: true}, {name: 'request'}],
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

/** On a narrow screen its cells come one below the other. */
function stacked(table) {
  table.classList.add('stacked');
  return table;
}
