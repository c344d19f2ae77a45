import {h} from './dom.js';

const MOST_PAIRS = 1_000_000;

/** The difference of two texts: removed, added and unchanged lines. */
export function difference(before, after) {
  const old = linesOf(before);
  const now = linesOf(after);
  const isLarge = old.length * now.length > MOST_PAIRS;
  return h('pre.diff', {tabindex: '0'}, (isLarge ? now.map(text => [' ', text]) : pairs(old, now)).map(([sign, text]) =>
      h(sign === ' ' ? 'span' : sign === '+' ? 'ins' : 'del', `${sign} ${text}\n`)));
}

/** Compares lines by their longest common subsequence. */
function pairs(old, now) {
  const longest = Array.from({length: old.length + 1}, () => new Uint32Array(now.length + 1));
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = now.length - 1; j >= 0; j--) {
      longest[i][j] = old[i] === now[j] ? longest[i + 1][j + 1] + 1 : Math.max(longest[i + 1][j], longest[i][j + 1]);
    }
  }
  const lines = [];
  let i = 0;
  let j = 0;
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) {
      lines.push([' ', old[i++]]);
      j++;
    } else if (j === now.length || (i < old.length && longest[i + 1][j] >= longest[i][j + 1])) {
      lines.push(['-', old[i++]]);
    } else {
      lines.push(['+', now[j++]]);
    }
  }
  return lines;
}

function linesOf(text) {
  return text === null ? [] : text.trimEnd().split('\n');
}
