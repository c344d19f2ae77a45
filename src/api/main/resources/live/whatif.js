import {bar, h, table} from './dom.js';
import {clock, count, signed} from './format.js';
import {OUTCOMES, outcome} from './outcomes.js';

/** The results of a backtest, side by side. */
export function comparison({from, to, requests, complete, before, after, policies, shared, clients}) {
  if (requests === 0) {
    return h('p.empty', 'There were no requests in this period.');
  }
  const most = Math.max(1, ...Object.values(before), ...Object.values(after));
  return h('div',
      h('p', h('b', `${count(requests)} requests`), ` from ${clock(from)} to ${clock(to)}, decided twice without earlier usage: by the definitions in force, and with this change.`),
      shared.length > 0 && approximation(shared),
      !complete && h('p.note', 'There were more requests than are read: these are the newest.'),
      table('By outcome', [{name: 'outcome'}, {name: 'in force', number: true}, {name: 'with this change', number: true}, {name: 'difference', number: true}, {name: 'in force (grey), with this change'}],
          OUTCOMES.map(({key}) => {
            const [was, is] = [before[key.toLowerCase()], after[key.toLowerCase()]];
            return [outcome(key), count(was), count(is), change(was, is),
              h('span.bars', bar(was / most, 'was'), bar(is / most, key.toLowerCase()))];
          })),
      h('h3', 'By policy'),
      policies.length === 0 ? h('p.empty', 'No policy decided any of them.')
          : table('By policy', [{name: 'policy'}, {name: 'allowed', number: true}, {name: 'queued', number: true}, {name: 'denied', number: true}],
              policies.map(({policy, before, after}) => [policy,
                ...['allowed', 'queued', 'denied'].map(key => step(before[key], after[key]))])),
      h('h3', 'Clients whose denials differ most'),
      clients.length === 0 ? h('p.empty', 'There are no differences.')
          : table('Clients whose denials differ most', [{name: 'client'}, {name: 'denied in force', number: true}, {name: 'with this change', number: true}, {name: 'difference', number: true}],
              clients.map(({client, deniedBefore, deniedAfter}) => [
                h('a', {href: `#/client/${encodeURIComponent(client)}`}, client),
                count(deniedBefore), count(deniedAfter), change(deniedBefore, deniedAfter)])));
}

function approximation(shared) {
  return h('p.warning', h('b', 'Approximate. '), `${shared.join(', ')} ${shared.length === 1 ? 'is' : 'are'} shared by clients. `
      + 'In operation, partitions and clients lease parts of a shared limit, so a request can be denied while another one holds the rest. '
      + 'This backtest counts the limit in one place, and has no requests that leased clients decided themselves.');
}

function change(before, after) {
  return h(before === after ? 'span.same' : 'b', signed(after - before));
}

function step(before, after) {
  return before === after ? h('span.same', count(after)) : h('span', `${count(before)} → `, h('b', count(after)));
}
