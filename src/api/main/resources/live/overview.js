import {TimeChart} from './charts.js';
import {fill, h, isInUse, say} from './dom.js';
import {atMost, count, duration, percent, rough} from './format.js';
import {denyingPolicies, limitedClients, LimitedFigures} from './limited.js';
import {OUTCOMES} from './outcomes.js';
import {rangePicker} from './timerange.js';

const HIGHEST_LATENCY_MS = 60_000;
const ABOVE_MS = HIGHEST_LATENCY_MS + 1;

/** Decisions, latency, lag, the most limited clients, and the policies with most denials. */
export function overviewView(parts, stream) {
  const figures = new Figures();
  const decisions = new TimeChart('Decisions per second',
      OUTCOMES.map(({key, name, colour}) => ({name, colour, filled: true, value: tick => tick.decisions[key] ?? 0})),
      {stacked: true, size: 'huge', unit: '/s'});
  const latency = new TimeChart('Decision latency (log scale)', [
    {name: 'p50', colour: '--allowed', value: tick => tick.latencyMs && (tick.latencyMs.p50 ?? ABOVE_MS)},
    {name: 'p99', colour: '--denied', value: tick => tick.latencyMs && (tick.latencyMs.p99 ?? ABOVE_MS)},
  ], {format: ms => atMost(ms, HIGHEST_LATENCY_MS), size: 'low', logarithmic: true});
  const lag = new TimeChart('Lag (records not decided yet)', [
    {name: 'lag', colour: '--accent', filled: true, value: tick => tick.lag},
  ], {size: 'low'});
  const clients = h('div');
  const policies = h('div');
  const clientPeriod = h('p.note');
  const policyPeriod = h('p.note');
  const limited = new LimitedFigures(stream, () => showLimited());
  const showLimited = () => {
    say(clientPeriod, `denied, delayed or expired ${limited.period}${limited.figures?.exact === false ? '; estimates' : ''}`);
    say(policyPeriod, `${limited.period}; a request counts for each policy that was checked`);
    if (!isInUse(clients)) {
      fill(clients, limitedClients(limited));
    }
    if (!isInUse(policies)) {
      fill(policies, denyingPolicies(limited));
    }
  };
  const show = () => {
    picker.show();
    [decisions, latency, lag].forEach(chart => chart.show(stream.timeRange));
    limited.refresh();
  };
  const picker = rangePicker(stream.timeRange, show);
  return {
    title: 'Overview',
    root: h('div', h('h1.hidden', 'Overview'), figures.root, picker.root,
        h('div.grid.wide-first',
            h('section.card', decisions.root),
            h('section.card', latency.root, lag.root)),
        h('div.grid.halves',
            h('section.card', h('h2', 'Most limited clients'), clientPeriod, clients),
            h('section.card', h('h2', 'Policies with most denials'), policyPeriod, policies))),
    update() {
      figures.show(stream);
      show();
      showLimited();
    },
    close() {
      limited.close();
      [decisions, latency, lag].forEach(chart => chart.close());
    },
  };
}

/** The key figures. */
class Figures {
  #all = new Map();

  constructor() {
    this.root = h('dl.figures', ['Decisions', 'Denied', 'Waiting', 'Latency p99', 'Lag', 'Dead letters', 'Instances'].map(name => {
      const value = h('b', '–');
      const more = h('span.more');
      this.#all.set(name, {value, more, box: null});
      const box = h('div.figure', h('dt', name === 'Dead letters' ? h('a', {href: '#/dead-letters'}, name) : name), h('dd', value, more));
      this.#all.get(name).box = box;
      return box;
    }));
  }

  show({ticks, latest, now}) {
    if (latest === null) {
      return;
    }
    const all = sum(Object.values(latest.decisions));
    const mean = sum(ticks.map(tick => sum(Object.values(tick.decisions)))) / ticks.length;
    const minute = ticks.slice(-60);
    const decided = sum(minute.map(tick => sum(Object.values(tick.decisions))));
    const denied = sum(minute.map(tick => tick.decisions.DENIED ?? 0));
    const waiting = now?.waitingInAll ?? sum(latest.queues.map(queue => queue.waiting));
    const oldest = Math.max(0, ...latest.queues.map(queue => queue.oldestWaitMs ?? 0));
    const dead = sum(ticks.map(tick => tick.deadLetters));
    const up = (now?.instances ?? []).filter(({health}) => health === 'RUNNING').length;
    const known = now?.instances.length ?? latest.instances;
    this.#set('Decisions', `${count(all)}/s`, `${rough(mean)}/s over 5m`);
    this.#set('Denied', `${count(latest.decisions.DENIED ?? 0)}/s`, `${percent(decided === 0 ? 0 : denied / decided)} in the last minute`);
    this.#set('Waiting', count(waiting), waiting === 0 ? 'no requests in queues' : `oldest ${duration(oldest)}`);
    this.#set('Latency p99', latest.latencyMs ? atMost(latest.latencyMs.p99, HIGHEST_LATENCY_MS) : '–',
        latest.latencyMs ? `p50 ${atMost(latest.latencyMs.p50, HIGHEST_LATENCY_MS)}` : 'no decisions');
    this.#set('Lag', count(latest.lag), lagMore(latest.lag, all), all === 0 && latest.lag > 0);
    this.#set('Dead letters', count(dead), 'in the last 5m', dead > 0);
    this.#set('Instances', now ? `${up}/${known}` : count(latest.instances), 'running', now !== null && up < known);
  }

  #set(name, value, more, isBad = false) {
    const figure = this.#all.get(name);
    say(figure.value, value);
    say(figure.more, more);
    figure.box.classList.toggle('bad', isBad);
  }
}

function lagMore(lag, decidedPerSecond) {
  if (lag === null) {
    return 'unknown for some partitions';
  }
  if (lag === 0) {
    return 'all decided';
  }
  return decidedPerSecond > 0 ? `${duration(lag / decidedPerSecond * 1000)} to catch up` : 'no decisions';
}

function sum(values) {
  return values.reduce((a, b) => a + b, 0);
}
