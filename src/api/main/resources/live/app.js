import {askForToken} from './api.js';
import {clientView} from './client.js';
import {deadLettersView} from './dead-letters.js';
import {fill, h, say} from './dom.js';
import {clock, duration} from './format.js';
import {instancesView} from './instances.js';
import {overviewView} from './overview.js';
import {policiesView} from './policies.js';
import {queuesView} from './queues.js';
import {Stream} from './stream.js';
import {startTheme} from './theme.js';

const VIEWS = {
  overview: overviewView,
  queues: queuesView,
  client: clientView,
  policies: policiesView,
  instances: instancesView,
  'dead-letters': deadLettersView,
};
const LATE_MS = 8000;
const MOST_INCOMPLETE = 10;
const head = document.getElementById('head');
const main = document.getElementById('main');
const banner = document.getElementById('banner');
const pulse = document.getElementById('pulse');
const stream = new Stream(changed);
let view = null;
let announced = '';

function route() {
  const [name, ...parts] = location.hash.replace(/^#\/?/, '').split('/').map(decoded);
  const isKnown = Object.hasOwn(VIEWS, name);
  if (view?.name === name && view.takes?.(parts)) {
    return;
  }
  view?.close();
  view = VIEWS[isKnown ? name : 'overview'](parts, stream);
  view.name = isKnown ? name : 'overview';
  fill(main, view.root);
  document.title = `${view.title} · Weir`;
  for (const link of document.querySelectorAll('#nav a')) {
    if (link.hash === `#/${view.name}`) {
      link.setAttribute('aria-current', 'page');
    } else {
      link.removeAttribute('aria-current');
    }
  }
  view.update?.();
  scrollTo(0, 0);
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function changed(isNew = true) {
  const {latest, isLive, isPaused, trouble} = stream;
  pulse.className = stream.isHeld ? 'pulse held' : isLive ? 'pulse live' : trouble ? 'pulse lost' : 'pulse';
  say(pulse, stream.isHeld && latest ? `held · ${clock(latest.at)}` : latest && isLive ? `live · ${clock(latest.at)}` : isLive ? 'live' : trouble ? 'disconnected' : isPaused ? 'paused' : 'connecting');
  document.body.classList.toggle('stale', !isLive && trouble !== null);
  announce(warnings());
  if (isNew && !document.hidden) { // a view that is drawn again loses the focus and the selection
    view?.update?.();
  }
}

/** Returns the warnings of the banner. */
function warnings() {
  const {latest, now, isLive, trouble, incomplete} = stream;
  const all = [];
  if (!isLive && trouble) {
    const since = latest ? `The figures are from ${clock(latest.at)}. ` : '';
    const next = trouble.status === 401 ? 'Enter a token to continue.' : 'Reconnecting.';
    all.push({grave: true, text: `The live feed is disconnected: ${trouble.message}. ${since}${next}`, asks: trouble.status === 401});
  }
  const lateMs = isLive && !stream.isHeld && latest && now ? now.at - latest.at : 0;
  if (lateMs > LATE_MS) {
    const moreThanMs = lateMs - lateMs % LATE_MS; // changes rarely, because screen readers read each change
    all.push({grave: true, text: `The figures are more than ${duration(moreThanMs)} old: the last are from ${clock(latest.at)}.`});
  }
  if (isLive && incomplete > MOST_INCOMPLETE) {
    all.push({grave: false, text: 'The figures of some instances are missing: a clock may be behind.'});
  }
  for (const address of now?.unreachable ?? []) {
    all.push({grave: true, text: `${address} is unreachable: its figures are missing.`});
  }
  for (const {address, health} of now?.instances ?? []) {
    if (health !== 'RUNNING' && health !== 'UNREACHABLE') {
      const grave = health !== 'STARTING' && health !== 'REBALANCING';
      all.push({grave, text: `${address} is ${health}.`});
    }
  }
  return all;
}

function announce(all) {
  const text = JSON.stringify(all);
  if (text === announced) {
    return;
  }
  announced = text;
  fill(banner, all.map(({grave, text, asks}) => h(grave ? 'p.grave' : 'p',
      h('b', grave ? 'Attention ' : 'Note '), text,
      asks && h('button', {type: 'button', onclick: () => askForToken('Reading requires a token.')}, 'Enter token'))));
}

/** Publishes the height that the sticky header covers, for what sticks below it. */
function measureHead() {
  const isSticky = getComputedStyle(head).position === 'sticky';
  document.documentElement.style.setProperty('--head', `${isSticky ? head.offsetHeight : 0}px`);
}

const pause = document.getElementById('pause');
pause.addEventListener('click', () => {
  stream.hold(!stream.isHeld);
  pause.textContent = stream.isHeld ? 'Resume' : 'Pause';
});
startTheme();
new ResizeObserver(measureHead).observe(head);
document.getElementById('token').addEventListener('click',
    () => askForToken('Changes require a token. Reading may require one too.'));
document.getElementById('skip').addEventListener('click', event => {
  event.preventDefault(); // the hash selects the view
  main.focus();
});
document.addEventListener('visibilitychange', () => view?.update?.());
window.addEventListener('hashchange', () => {
  route();
  main.focus({preventScroll: true});
});
route();
stream.run();
