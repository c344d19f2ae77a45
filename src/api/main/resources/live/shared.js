import {askJson} from './api.js';
import {bar, fill, h, isInUse} from './dom.js';
import {count, duration, percent} from './format.js';

const AGAIN_MS = 3000;

/** Returns whether clients share the limits of a policy, or lease parts of them. */
export function isShared(definition) {
  return !keyOf(definition).includes('client') || definition.lease === 'client';
}

function keyOf(definition) {
  return [definition.key ?? 'client'].flat();
}

/** The usage and leases of a shared policy; nothing for other policies. */
export function sharedView(id, stream) {
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
    if (!document.hidden && !stream.isHeld) {
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
      fill(root, card(h('p.note', `Counted by ${key.join(', ')}: see the page of a client for its usage and leases.`)));
    }
  };
  askJson(`/v1/policies/${encodeURIComponent(id)}`, {signal: abort.signal})
      .then(open, () => {}); // the editor shows that it cannot be read
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

/** Returns the usage and leases of a shared policy. */
export function shared({policyId, key}, signal) {
  const parameters = new URLSearchParams(Object.entries(key).map(([name, value]) => [`key.${name}`, value]));
  return askJson(`/v1/shared/${encodeURIComponent(policyId)}?${parameters}`, {signal});
}

export function whoHolds(holders, free) {
  return h('p.note', holders
      .map(({holder, lent}) => `${count(lent)} leased to ${holder.replace(/^[^/]+\/(?=[0-9]+$)/, 'partition ')}`)
      .concat(`${count(free)} free`)
      .join(', '));
}

/** A limit and its usage. */
export function limit({label, limit, used, remaining, resetAfterMs}) {
  if (limit === null) {
    return h('div.usage', h('span', label), h('span.note', 'unlimited'));
  }
  const share = limit === 0 ? 1 : used / limit;
  const kind = remaining <= 0 ? 'denied' : share >= 0.8 ? 'queued' : '';
  return h('div.usage',
      h('span', label), bar(share, kind),
      h('span', h('b', `${count(used)} of ${count(limit)}`), ` used, ${percent(share)}`),
      h('span', remaining <= 0 ? h('b', 'none left') : `${count(remaining)} left`),
      h('span.note', resetAfterMs > 0 ? `resets in ${duration(resetAfterMs)}` : 'no usage'));
}
