import {askJson} from './api.js';
import {fill, h, isInUse} from './dom.js';
import {count, day, duration, percent, rough} from './format.js';

const AGAIN_MS = 3000;
const MS_PER_SECOND = 1000;

/** The gateways, with what they have decided since the last look. */
export function gatewaysPart(stream) {
  const root = h('div.gateways');
  const abort = new AbortController();
  const earlier = new Map();
  let timer = null;
  const ask = async () => {
    if (!document.hidden && !stream.isHeld) {
      try {
        const {gateways} = await askJson('/v1/gateways', {signal: abort.signal});
        if (!isInUse(root)) {
          fill(root, gateways.length > 0 && h('h2', 'Gateways'),
              h('div.grid.thirds', gateways.map(gateway => card(gateway, earlier.get(gateway.address)))));
        }
        gateways.forEach(({address, status}) => earlier.set(address, status));
      } catch (e) {
        if (!abort.signal.aborted) {
          fill(root, h('p.fault', `The state of the gateways is unknown: ${e.message}`));
        }
      }
    }
    if (!abort.signal.aborted) {
      timer = setTimeout(ask, AGAIN_MS);
    }
  };
  ask();
  return {
    root,
    close() {
      abort.abort();
      clearTimeout(timer);
    },
  };
}

function card({address, status, failure}, before) {
  if (status === null) {
    return h('section.card.instance.gateway',
        h('header', h('h3', address), h('span.health.bad', 'UNREACHABLE')), h('p.empty', `Its figures are missing: ${failure}.`));
  }
  const isWell = status.status === 'RUNNING' && status.circuit === 'CLOSED' && status.leaseCircuit === 'CLOSED';
  const state = status.status !== 'RUNNING' || isWell ? status.status
      : status.circuit === 'CLOSED' ? 'NO LEASES' : `CIRCUIT ${status.circuit}`;
  return h('section.card.instance.gateway',
      h('header', h('h3', address), h(`span.health.${isWell ? 'good' : ['CONNECTING', 'STOPPING'].includes(status.status) ? 'moving' : 'bad'}`, state)),
      h('p.note', {title: `since ${day(status.startedAt)}`},
          `version ${status.version ?? 'unknown (not from a jar)'} · up ${duration(status.at - status.startedAt)}`),
      decided(status, before),
      h('p.note', `${count(status.waiting)} wait for a decision`));
}

/** Returns the rate and the shares since the last look; since the start if there is none or the gateway was restarted. */
function decided(now, before) {
  const isSince = before && before.startedAt === now.startedAt && before.at < now.at;
  const since = key => now[key] - (isSince ? before[key] : 0);
  const all = since('decidedInProcess') + since('decidedByTopics') + since('undecided');
  const share = key => percent(all === 0 ? 0 : since(key) / all);
  return [
    h('p', isSince
        ? [h('b', rough(all * MS_PER_SECOND / (now.at - before.at))), ' requests per second']
        : [h('b', count(all)), ' requests since its start']),
    all > 0 && h('p.note', `${share('decidedInProcess')} in process · ${share('decidedByTopics')} by the topics · ${share('undecided')} without a decision`),
  ];
}
