const WHOLE = new Intl.NumberFormat('en', {maximumFractionDigits: 0});
const ROUGH = new Intl.NumberFormat('en', {maximumSignificantDigits: 3});
const CLOCK = new Intl.DateTimeFormat('en-GB', {hour: '2-digit', minute: '2-digit', second: '2-digit'});
const MINUTE = new Intl.DateTimeFormat('en-GB', {hour: '2-digit', minute: '2-digit'});
const DAY = new Intl.DateTimeFormat('en-GB', {
  year: 'numeric', month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit',
});
const UNITS = [[86_400_000, 'd'], [3_600_000, 'h'], [60_000, 'm'], [1000, 's'], [1, 'ms']];
const NONE = '–';

export function count(n) {
  return n === null || n === undefined ? NONE : WHOLE.format(n);
}

export function signed(n) {
  return n > 0 ? `+${count(n)}` : n < 0 ? `−${count(-n)}` : '0';
}

/** Formats a number that need not be whole, such as a rate. */
export function rough(n) {
  return n === null || n === undefined ? NONE : n >= 1000 ? WHOLE.format(n) : ROUGH.format(n);
}

export function percent(share) {
  return share > 0 && share < 0.01 ? '<1 %' : `${WHOLE.format(share * 100)} %`;
}

/** Formats a measured duration like the command line, in at most two units: `70ms`, `2.5s`, `1m 15s`. */
export function duration(ms) {
  if (ms === null || ms === undefined) {
    return NONE;
  }
  if (ms < 1) {
    return '0s';
  }
  const i = UNITS.findIndex(([size]) => ms >= size);
  const [size, unit] = UNITS[i];
  if (unit === 'ms' || (unit === 's' && ms < 10_000)) {
    return `${ROUGH.format(ms / size)}${unit}`;
  }
  const [lesser, lesserUnit] = UNITS[i + 1];
  const rest = unit === 's' ? 0 : Math.floor((ms % size) / lesser);
  return `${Math.floor(ms / size)}${unit}${rest > 0 ? ` ${rest}${lesserUnit}` : ''}`;
}

/** Formats an upper bound; null, or a value above the highest bound, means above the highest bound. */
export function atMost(ms, highestMs) {
  return ms === null || ms > highestMs ? `> ${duration(highestMs)}` : `≤ ${duration(ms)}`;
}

/** Formats a period for use after `per`, such as `s` or `5m`. */
export function period(ms) {
  const [size, unit] = UNITS.find(([size]) => ms % size === 0) ?? [1, 'ms'];
  return ms === size ? unit : `${ms / size}${unit}`;
}

export function clock(at) {
  return CLOCK.format(at);
}

export function minute(at) {
  return MINUTE.format(at);
}

export function day(at) {
  return DAY.format(at);
}
