import {TimeChart, swatch} from './charts.js';
import {commandDialog} from './commands.js';
import {bar, fill, h, say} from './dom.js';
import {atMost, count, day, duration, percent, period, rough} from './format.js';
import {rangePicker} from './timerange.js';

const TIER_COLOURS = 5;
const HIGHEST_WAIT_MS = 1_800_000;

/** Each queue with its backlog by tier, inflow and outflow. */
export function queuesView(parts, stream) {
  const cards = new Map();
  const list = h('div.queues');
  const empty = h('p.empty', 'Waiting for the first figures.');
  const some = h('p.note');
  const picker = rangePicker(stream.timeRange, () => update());
  const update = () => {
    picker.show();
    const queues = stream.now?.queues ?? [];
    say(empty, stream.now === null ? 'Waiting for the first figures.' : queues.length === 0 ? 'There are no queues.' : '');
    const inAll = stream.now?.queuesInAll ?? queues.length;
    say(some, inAll > queues.length ? `${count(queues.length)} of ${count(inAll)} queues: those with the most waiting requests` : '');
    const ids = new Set(queues.map(({id}) => id));
    for (const [id, card] of cards) {
      if (!ids.has(id)) {
        card.close();
        cards.delete(id);
      }
    }
    queues.forEach((queue, i) => {
      if (!cards.has(queue.id)) {
        const card = new QueueCard(queue);
        cards.set(queue.id, card);
        list.insertBefore(card.root, list.children[i] ?? null);
      }
      cards.get(queue.id).show(queue, stream);
    });
  };
  return {
    title: 'Queues',
    root: h('div', h('div.head', h('h1', 'Queues'), picker.root), empty, some, list),
    update,
    close() {
      cards.forEach(card => card.close());
    },
  };
}

class QueueCard {
  #id;
  #rate;
  #tank = h('div.tank');
  #vessel;
  #in = h('span.pipe.in');
  #out = h('span.pipe.out');
  #depth = h('p.depth');
  #state = h('p.note', {hidden: true}, 'Deleted: denies new requests; these requests drain by its last rules.');
  #orders = h('div.orders', {role: 'status'});
  #result = h('p.note', {role: 'status'});
  #buttons = new Map();
  #tiers = h('ul.tiers');
  #keys = h('div');
  #facts = h('dl.facts');
  #chart;

  constructor({id}) {
    this.#id = id;
    this.#vessel = h('div.vessel', {role: 'img'}, this.#in, this.#tank, h('div.outlet'), this.#out);
    this.#chart = new TimeChart('Requests in and out per second', [
      {name: 'in', colour: '--queued', filled: true, value: tick => this.#of(tick)?.in ?? null},
      {name: 'out', colour: '--allowed', value: tick => this.#of(tick)?.out ?? null},
      {name: 'limit', colour: '--text', dashed: true, value: () => this.#rate},
    ], {unit: '/s', size: 'middle', level: 3});
    this.root = h('section.card.queue',
        h('header', h('h2', h('a', {href: `#/policies/queue/${encodeURIComponent(id)}`}, id)), this.#depth), this.#state, this.#orders,
        h('div.row', ['pause', 'drain', 'resume', 'purge'].map(action => this.#button(action))), this.#result,
        h('div.picture', this.#vessel, this.#tiers), this.#keys, this.#facts, this.#chart.root);
  }

  show(queue, {ticks, timeRange}) {
    // The limit of a queue with key fields applies to each key.
    const {rate} = queue.rules;
    this.#rate = queue.keys === null && rate !== null ? rate.limit * 1000 / rate.perMs : null;
    const capacity = queue.rules.capacity * Math.max(1, queue.keys ?? 1);
    const tick = ticks.length > 0 ? this.#of(ticks.at(-1)) : undefined;
    const tiers = [...queue.backlog.tiers].sort((a, b) => b.priority - a.priority || b.weight - a.weight
        || String(a.tier).localeCompare(String(b.tier)));
    this.#state.hidden = !queue.rules.deleted;
    this.#showOrders(queue.orders);
    const waiting = tiers.reduce((sum, tier) => sum + tier.waiting, 0);
    const share = waiting / capacity;
    const keys = queue.keys === null ? '' : `, ${count(queue.keys)} keys in use`;
    fill(this.#depth, h('b', count(waiting)), ` of ${count(capacity)} waiting, ${percent(share)} full${keys}`);
    this.#vessel.setAttribute('aria-label', `${queue.id}: ${count(waiting)} of ${count(capacity)} waiting; `
        + tiers.map(tier => `${name(tier)} ${count(tier.waiting)}`).join(', '));
    this.#tank.classList.toggle('full', share >= 0.9);
    fill(this.#tank, tiers.map((tier, i) => layer(tier, i, capacity)));
    say(this.#in, `${rough(tick?.in ?? null)}/s in`);
    say(this.#out, `${rough(tick?.out ?? null)}/s out`);
    fill(this.#tiers, tiers.length === 0 ? h('li.note', 'No request is waiting, and no tier is configured.') : tiers.map((tier, i) => h('li',
        swatch(colour(tier, i)), h('b', name(tier)), h('span.number', count(tier.waiting)),
        coloured(colour(tier, i), bar(waiting === 0 ? 0 : tier.waiting / waiting)),
        h('small', `priority ${tier.priority} · weight ${tier.weight}${tier.slots > 0 ? ` · ${count(tier.slots)} in flight` : ''}`))));
    fill(this.#facts, facts(queue, tick, waiting));
    fill(this.#keys, queue.backlog.longest.length === 0 ? null : longest(queue.backlog.longest));
    this.#chart.show(timeRange);
  }

  #button(action) {
    const button = h(action === 'purge' ? 'button.quiet.danger' : 'button.quiet', {type: 'button', onclick: async () => {
      const result = await commandDialog(this.#id, action);
      if (result !== null) {
        say(this.#result, result);
      }
    }}, `${action[0].toUpperCase()}${action.slice(1)} …`);
    this.#buttons.set(action, button);
    return button;
  }

  #showOrders({paused, draining, purging, keys}) {
    this.#buttons.get('resume').disabled = paused === null && draining === null;
    const lines = [
      paused && order('Paused: nothing is released', paused),
      draining && order('Draining: new requests are denied', draining),
      purging && 'Requests are being purged.',
      keys > 0 && `${count(keys)} ${keys === 1 ? 'key has a command of its own' : 'keys have commands of their own'}: weir queues ${this.#id}`,
    ].filter(line => line);
    if (this.#orders.dataset.shown !== lines.join('\n')) { // screen readers announce each change
      this.#orders.dataset.shown = lines.join('\n');
      fill(this.#orders, lines.map(line => h('p', line)));
    }
  }

  close() {
    this.#chart.close();
    this.root.remove();
  }

  #of(tick) {
    return tick.queues.find(queue => queue.id === this.#id);
  }
}

function order(what, {author, reason, since}) {
  return `${what}, since ${day(since)}, by ${author ?? 'unknown'}: ${reason}`;
}

/** The keys with the most waiting requests, with bars relative to the first. */
function longest(keys) {
  return [h('h3', 'Longest keys'), h('ul.keys', keys.map(({key, waiting, oldestWaitMs, drainMs, slots}) => h('li',
      h('b', Object.entries(key).map(([field, value]) => `${field}=${value}`).join(' ')), h('span.number', count(waiting)),
      bar(waiting / keys[0].waiting),
      h('small', `oldest ${duration(oldestWaitMs)} · drains in ${duration(drainMs)}${slots > 0 ? ` · ${count(slots)} in flight` : ''}`))))];
}

function facts({keys, rules: {rate, maxWaitMs}, waitsMs, backlog: {drainMs}, inFlight}, tick, waiting) {
  const all = [
    [keys === null ? 'Rate' : 'Rate per key', rate === null ? 'no limit' : `${count(rate.limit)} per ${period(rate.perMs)}${rate.burst > 1 ? `, burst ${count(rate.burst)}` : ''}`],
    ['Oldest request', tick?.oldestWaitMs === null ? 'none' : duration(tick?.oldestWaitMs)],
    ['Maximum wait', maxWaitMs === null ? 'no limit' : duration(maxWaitMs)],
    ['Wait p50, last minute', waitsMs === null ? 'no releases' : atMost(waitsMs.p50, HIGHEST_WAIT_MS)],
    ['Wait p99, last minute', waitsMs === null ? 'no releases' : atMost(waitsMs.p99, HIGHEST_WAIT_MS)],
    [keys === null ? 'Drains in' : 'All keys drain in', waiting === 0 ? 'empty' : duration(drainMs)],
    ...attempts(inFlight, keys),
  ];
  return all.map(([name, value]) => h('div', h('dt', name), h('dd', value)));
}

/** What workers have, of a queue that expects their answers. */
function attempts({most, mostInAll, requests, slots, retries, oldestMs}, keys) {
  if (most === null && requests === 0 && retries === 0) {
    return [];
  }
  const ofAll = mostInAll === null ? '' : ` of ${count(mostInAll)}`;
  const ofKey = most === null || most === mostInAll ? '' : keys === null ? ` of ${count(most)}` : `, at most ${count(most)} per key`;
  return [
    ['Slots in use', `${count(slots)}${ofAll}${ofKey}`],
    ['In flight', count(requests)],
    ['Oldest in flight', oldestMs === null ? 'none' : duration(oldestMs)],
    ['Waiting for a retry', count(retries)],
  ];
}

/** Tiers that are released first are at the bottom, at the outlet. */
function layer(tier, i, capacity) {
  const water = h('span.layer');
  water.style.setProperty('--of', `var(${colour(tier, i)})`);
  water.style.height = `${Math.min(100, 100 * tier.waiting / Math.max(1, capacity))}%`;
  water.classList.toggle('some', tier.waiting > 0);
  return water;
}

/** Gives a bar the colour of a tier. */
function coloured(colour, bar) {
  bar.style.setProperty('--of', `var(${colour})`);
  return bar;
}

function colour({tier}, i) {
  return tier === null ? '--tier-none' : `--tier-${i % TIER_COLOURS}`;
}

function name({tier}) {
  return tier ?? 'no tier';
}
