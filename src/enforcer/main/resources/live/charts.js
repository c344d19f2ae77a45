import {fill, h, table} from './dom.js';
import {clock, minute, rough} from './format.js';

const SPAN_MS = 300_000;
const GAP_MS = 2500;
const MINUTE_MS = 60_000;
const AXIS_WIDTH = 44;

const {Chart} = window;
Chart.defaults.animation = false;
Chart.defaults.font.family = 'system-ui, sans-serif';

const probe = document.body.appendChild(h('span.hidden', {'aria-hidden': 'true'}));
const colours = new Map();
window.addEventListener('weir-theme', () => colours.clear());

/**
 * A chart of the last five minutes with its legend, and a table with the same values for users who cannot see the
 * chart.
 *
 * @param series `{name, colour, value, unit, dashed, filled}`: `colour` is a custom property of the style sheet, and
 *     `value` returns the value of a tick, or null if there is none
 * @param options `stacked`, `logarithmic`, `unit`, `size`, a class, and `level` of the heading
 */
export class TimeChart {
  #series;
  #unit;
  #chart;
  #legend = h('ul.legend');
  #details = h('details.alternative', {ontoggle: () => this.#updateTable()}, h('summary', 'As a table'), h('div'));
  #ticks = [];
  #redraw = () => this.#chart.update();

  constructor(title, series, {stacked = false, logarithmic = false, unit = '', size = 'low', level = 2} = {}) {
    this.#series = series;
    this.#unit = unit;
    const canvas = h('canvas', {role: 'img', 'aria-label': `${title}, the last five minutes; the table below has the same values`});
    this.root = h('figure.chart',
        h('figcaption', h(`h${level}`, title), this.#legend),
        h(`div.canvas.${size}`, canvas), this.#details);
    this.title = title;
    this.#chart = new Chart(canvas, {
      type: 'line',
      data: {datasets: series.map(one => dataset(one, stacked))},
      options: options(stacked, logarithmic, unit),
    });
    window.addEventListener('weir-theme', this.#redraw);
  }

  show(ticks) {
    this.#ticks = ticks;
    const last = ticks.at(-1);
    fill(this.#legend, this.#series.map(({name, colour, value, dashed}) =>
        h('li', swatch(colour, dashed), `${name} `, h('b', last ? this.#figure(value(last)) : '–'))));
    this.#series.forEach(({value}, i) => {
      this.#chart.data.datasets[i].data = points(ticks, value);
    });
    const end = last?.at ?? Date.now();
    Object.assign(this.#chart.options.scales.x, {min: end - SPAN_MS, max: end});
    this.#chart.update();
    this.#updateTable();
  }

  close() {
    window.removeEventListener('weir-theme', this.#redraw);
    this.#chart.destroy();
  }

  #figure(value) {
    return value === null ? '–' : `${rough(value)}${this.#unit}`;
  }

  /** Shows the mean of each minute, because screen readers would read a row per second for minutes. */
  #updateTable() {
    if (!this.#details.open) {
      return;
    }
    const minutes = new Map();
    for (const tick of this.#ticks) {
      const at = tick.at - (tick.at % MINUTE_MS);
      minutes.set(at, [...(minutes.get(at) ?? []), tick]);
    }
    fill(this.#details.lastChild, table(`${this.title}, mean per minute`,
        [{name: 'minute'}, ...this.#series.map(({name}) => ({name, number: true}))],
        [...minutes].reverse().map(([at, ticks]) =>
            [minute(at), ...this.#series.map(({value}) => this.#figure(mean(ticks.map(value))))])));
  }
}

/** A patch with the colour of a series or tier. */
export function swatch(colour, dashed = false) {
  const patch = h(`span.swatch${dashed ? '.dashed' : ''}`, {'aria-hidden': 'true'});
  patch.style.setProperty('--of', `var(${colour})`);
  return patch;
}

function dataset({name, colour, dashed, filled}, stacked) {
  return {
    label: name,
    data: [],
    parsing: false,
    pointRadius: 0,
    pointHitRadius: 8,
    borderWidth: stacked ? 1 : 1.75,
    borderDash: dashed ? [5, 4] : [],
    fill: filled ? (stacked ? 'stack' : 'origin') : false,
    borderColor: () => shade(colour),
    backgroundColor: () => shade(colour, stacked ? 0.6 : 0.18),
  };
}

function options(stacked, logarithmic, unit) {
  const grid = {color: () => shade('--line'), drawTicks: false};
  const ticks = {color: () => shade('--muted'), padding: 6, font: {size: 11}};
  return {
    responsive: true,
    maintainAspectRatio: false,
    normalized: true,
    interaction: {mode: 'index', intersect: false},
    plugins: {
      legend: {display: false},
      tooltip: {
        callbacks: {
          title: ([item]) => clock(item.parsed.x),
          label: item => ` ${item.dataset.label}: ${rough(item.parsed.y)}${unit}`,
        },
      },
    },
    scales: {
      x: {
        type: 'linear',
        grid,
        border: {display: false},
        afterBuildTicks: axis => {
          axis.ticks = wholeMinutes(axis.min, axis.max).map(value => ({value}));
        },
        ticks: {...ticks, maxRotation: 0, autoSkip: false, callback: value => minute(value)},
      },
      y: {
        ...(logarithmic ? {type: 'logarithmic', min: 1, suggestedMax: 100} : {beginAtZero: true, suggestedMax: 4}),
        afterFit: axis => {
          axis.width = AXIS_WIDTH;
        },
        stacked,
        grid,
        border: {display: false},
        ticks: {...ticks, maxTicksLimit: 5, precision: 0, callback: value => (logarithmic && !Number.isInteger(Math.log10(value)) ? null : rough(value))},
      },
    },
  };
}

function points(ticks, value) {
  const data = [];
  ticks.forEach((tick, i) => {
    if (i > 0 && tick.at - ticks[i - 1].at > GAP_MS) {
      data.push({x: tick.at - 1, y: null});
    }
    data.push({x: tick.at, y: value(tick)});
  });
  return data;
}

function wholeMinutes(min, max) {
  const minutes = [];
  for (let at = Math.ceil(min / MINUTE_MS) * MINUTE_MS; at <= max; at += MINUTE_MS) {
    minutes.push(at);
  }
  return minutes;
}

function mean(values) {
  const known = values.filter(value => value !== null);
  return known.length === 0 ? null : known.reduce((a, b) => a + b) / known.length;
}

/** Returns the colour of a custom property in a form that a canvas accepts. */
function shade(name, alpha = 1) {
  const key = name + alpha;
  if (!colours.has(key)) {
    probe.style.color = `var(${name})`;
    const [r, g, b] = getComputedStyle(probe).color.match(/[\d.]+/g);
    colours.set(key, `rgba(${r}, ${g}, ${b}, ${alpha})`);
  }
  return colours.get(key);
}
