import {askJson} from './api.js';
import {bar, fill, h, isInUse} from './dom.js';
import {count, duration, percent} from './format.js';

const AGAIN_MS = 3000;

/** Whether the clients share what it counts, or hold parts of it. */
export function isShared(definition) {
  return !keyOf(definition).includes('client') || definition.lease === 'client';
}

function keyOf(definition) {
  return [definition.key ?? 'client'].flat();
}

/** What is used of a policy that all share, and who holds what; of any other there is nothing to see. */
export function sharedView(id) {
  const root = h('div.below');
  const abort = new AbortController();
  let timer = null;
  const show = async () => {
    try {
      const {limits, holders, free} = await shared({policyId: id, key: {}}, abort.signal);
      if (!isInUse(root)) {
        fill(root, card(limits.map(limit), whoHolds(holders, free)));
      }
    } catch (e) {
      if (!abort.signal.aborted) {
        fill(root, card(h('p.fault', e.message)));
      }
    }
  };
  const again = async () => {
    if (!document.hidden) {
      await show();
    }
    if (!abort.signal.aborted) {
      timer = setTimeout(again, AGAIN_MS);
    }
  };
  const open = ({definition}) => {
    const key = keyOf(definition);
    if (isShared(definition) && key.length === 0) {
      again();
    } else if (isShared(definition)) {
      fill(root, card(h('p.note', `Counted by ${key.join(', ')}: a client’s page shows what is used of it, and who holds what.`)));
    }
  };
  askJson(`/v1/policies/${encodeURIComponent(id)}`, {signal: abort.signal})
      .then(open, () => {}); // the editor tells that it cannot be read
  return {
    root,
    close() {
      abort.abort();
      clearTimeout(timer);
    },
  };
}

function card(...content) {
  return h('section.card', h('h2', 'Shared by all clients'), content);
}

/** What all clients have used of it, which may be with another instance. */
export function shared({policyId, key}, signal) {
  const parameters = new URLSearchParams(Object.entries(key).map(([name, value]) => [`key.${name}`, value]));
  return askJson(`/v1/shared/${encodeURIComponent(policyId)}?${parameters}`, {signal});
}

export function whoHolds(holders, free) {
  return h('p.note', holders
      .map(({holder, lent}) => `${count(lent)} lent to ${holder.replace(/^[^/]+\/(?=[0-9]+$)/, 'partition ')}`)
      .concat(`${count(free)} free`)
      .join(', '));
}

/** A limit, and what of it is used. */
export function limit({label, limit, used, remaining, resetAfterMs}) {
  if (limit === null) {
    return h('div.usage', h('span', label), h('span.note', 'unlimited'));
  }
  const share = limit === 0 ? 1 : used / limit;
  const kind = remaining <= 0 ? 'denied' : share >= 0.8 ? 'queued' : '';
  return h('div.usage',
      h('span', label), bar(share, kind),
      h('span', h('b', `${count(used)} of ${count(limit)}`), ` used, ${percent(share)}`),
      h('span', remaining <= 0 ? h('b', 'nothing left') : `${count(remaining)} left`),
      h('span.note', resetAfterMs > 0 ? `all free in ${duration(resetAfterMs)}` : 'all free'));
}
