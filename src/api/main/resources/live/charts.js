import {fill, h, table} from './dom.js';
import {clock, duration, minute, period, rough} from './format.js';

const GAP = 2.5;
const MINUTE_MS = 60_000;
const AXIS_WIDTH = 50;

const {Chart} = window;
Chart.defaults.animation = false;
Chart.defaults.font.family = 'system-ui, sans-serif';

const probe = document.body.appendChild(h('span.hidden', {'aria-hidden': 'true'}));
const colours = new Map();
window.addEventListener('weir-theme', () => colours.clear());

/**
 * A chart of a time range with its legend, and a table with the same values for users who cannot see the
 * chart.
 *
 * @param series `{name, colour, value, unit, dashed, filled}`: `colour` is a custom property of the style sheet, and
 *     `value` returns the value of a point, or null if there is none
 * @param options `stacked`; `logarithmic`, for durations in ms; `unit`, or `format`, which formats a value; `size`, a
 *     class; and `level` of the heading
 */
export class TimeChart {
  #series;
  #format;
  #chart;
  #canvas;
  #legend = h('ul.legend');
  #details = h('details.alternative', {ontoggle: () => this.#updateTable()}, h('summary', 'As a table'), h('div'));
  #timeRange = null;
  #redraw = () => this.#chart.update();

  constructor(title, series, {stacked = false, logarithmic = false, unit = '', format = value => `${rough(value)}${unit}`, size = 'low', level = 2} = {}) {
    this.#series = series;
    this.#format = format;
    this.#canvas = h('canvas', {role: 'img'});
    this.root = h('figure.chart',
        h('figcaption', h(`h${level}`, title), this.#legend),
        h(`div.canvas.${size}`, this.#canvas), this.#details);
    this.title = title;
    this.#chart = new Chart(this.#canvas, {
      type: 'line',
      data: {datasets: series.map(one => dataset(one, stacked))},
      options: options(stacked, logarithmic, format),
    });
    window.addEventListener('weir-theme', this.#redraw);
  }

  /** @param timeRange the points, and the range to show */
  show(timeRange) {
    this.#timeRange = timeRange;
    const {points, range, end} = timeRange;
    const last = points.at(-1);
    fill(this.#legend, this.#series.map(({name, colour, value, dashed}) =>
        h('li', swatch(colour, dashed), `${name} `, h('b', last ? this.#figure(value(last)) : '–'))));
    this.#series.forEach(({value}, i) => {
      this.#chart.data.datasets[i].data = withGaps(points, value, range.pointMs * GAP);
    });
    Object.assign(this.#chart.options.scales.x, {min: end - range.ms, max: end, tickMs: range.tickMs});
    const label = `${this.title}, ${range.text}; the table below has the same values`;
    if (this.#canvas.getAttribute('aria-label') !== label) {
      this.#canvas.setAttribute('aria-label', label);
    }
    this.#chart.update();
    this.#updateTable();
  }

  close() {
    window.removeEventListener('weir-theme', this.#redraw);
    this.#chart.destroy();
  }

  #figure(value) {
    return value === null ? '–' : this.#format(value);
  }

  /** Shows means, because screen readers would read a row for each point. */
  #updateTable() {
    if (!this.#details.open || this.#timeRange === null) {
      return;
    }
    const {points, range: {rowMs}} = this.#timeRange;
    const rows = new Map();
    for (const point of points) {
      const at = point.at - (point.at % rowMs);
      rows.set(at, [...(rows.get(at) ?? []), point]);
    }
    fill(this.#details.lastChild, table(`${this.title}, mean of each ${period(rowMs)}`,
        [{name: 'from'}, ...this.#series.map(({name}) => ({name, number: true}))],
        [...rows].reverse().map(([at, points]) =>
            [minute(at), ...this.#series.map(({value}) => this.#figure(mean(points.map(value))))])));
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

function options(stacked, logarithmic, format) {
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
          label: item => ` ${item.dataset.label}: ${format(item.parsed.y)}`,
        },
      },
    },
    scales: {
      x: {
        type: 'linear',
        grid,
        border: {display: false},
        afterBuildTicks: axis => {
          axis.ticks = wholeSteps(axis.min, axis.max, axis.options.tickMs ?? MINUTE_MS).map(value => ({value}));
        },
        ticks: {...ticks, maxRotation: 0, autoSkip: false, callback: value => minute(value)},
      },
      y: {
        ...(logarithmic ? {type: 'logarithmic', min: 1, suggestedMax: 100} : {beginAtZero: true, suggestedMax: 1}),
        afterFit: axis => {
          axis.width = AXIS_WIDTH;
        },
        stacked,
        grid,
        border: {display: false},
        ticks: {...ticks, maxTicksLimit: 5, precision: 0, callback: logarithmic ? powerOfTen : rough},
      },
    },
  };
}

/** Labels only powers of ten, because a logarithmic axis has many ticks. */
function powerOfTen(ms) {
  return Number.isInteger(Math.log10(ms)) ? duration(ms) : null;
}

function withGaps(points, value, gapMs) {
  const data = [];
  points.forEach((point, i) => {
    if (i > 0 && point.at - points[i - 1].at > gapMs) {
      data.push({x: point.at - 1, y: null});
    }
    data.push({x: point.at, y: value(point)});
  });
  return data;
}

/** Returns the multiples of a step, in local time. */
function wholeSteps(min, max, stepMs) {
  const offsetMs = new Date(max).getTimezoneOffset() * MINUTE_MS;
  const steps = [];
  for (let at = Math.ceil((min - offsetMs) / stepMs) * stepMs + offsetMs; at <= max; at += stepMs) {
    steps.push(at);
  }
  return steps;
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
