import {fill, h} from './dom.js';
import {count, day, duration, rough} from './format.js';
import {gatewaysPart} from './gateways.js';

const LATE = 100;
const VERY_LATE = 10_000;

/** The instances with their health, partitions and lag, and the gateways. */
export function instancesView(parts, stream) {
  const list = h('div.grid.thirds');
  const gateways = gatewaysPart(stream);
  return {
    title: 'Instances',
    root: h('div', h('h1', 'Instances'),
        h('p.note.key',
            h('span.cell.fine', 'lag < 100'), h('span.cell.late', `lag ≥ ${count(LATE)}`), h('span.cell.very-late', `lag ≥ ${count(VERY_LATE)}`),
            h('span.cell.fine.standby', 'standby'), ' lag: records not yet processed or copied'),
        list, gateways.root),
    update() {
      const instances = stream.now?.instances ?? [];
      fill(list, instances.length === 0 ? h('p.empty', 'Waiting for the first figures.') : instances.map(instance => card(instance, stream.now.at)));
    },
    close: gateways.close,
  };
}

function card({address, self, health, process, decisionsPerSecond, partitions}, now) {
  const applications = [...new Set(partitions.map(({application}) => application))].sort();
  return h('section.card.instance',
      h('header', h('h2', address), self && h('small.tag', 'this instance'), h(`span.health.${isWell(health)}`, health)),
      process && h('p.note', {title: `since ${day(process.startedAt)}`},
          `version ${process.version ?? 'unknown (not from a jar)'} · up ${duration(now - process.startedAt)}`),
      health !== 'UNREACHABLE' && h('p', h('b', rough(decisionsPerSecond)), ' decisions per second'),
      partitions.length === 0 && h('p.empty', health === 'UNREACHABLE' ? 'It did not respond: its figures are missing.' : 'It has no partitions.'),
      applications.map(application => h('div',
          h('h3', application),
          h('ul.cells', partitions
              .filter(partition => partition.application === application)
              .sort((a, b) => a.partition - b.partition)
              .map(cell)))));
}

function cell({partition, role, lag}) {
  const lateness = lag === null ? 'unknown' : lag >= VERY_LATE ? 'very-late' : lag >= LATE ? 'late' : 'fine';
  return h(`li.cell.${lateness}${role === 'standby' ? '.standby' : ''}`,
      h('b', partition), h('span', role), h('span', lag === null ? 'lag unknown' : `lag ${count(lag)}`));
}

function isWell(health) {
  return health === 'RUNNING' ? 'good' : health === 'STARTING' || health === 'REBALANCING' ? 'moving' : 'bad';
}
