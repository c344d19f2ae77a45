/**
 * Creates an element: `h('p.note', {id: 'x', onclick: f}, 'text', child)`. Text becomes a text node, so that names in
 * the data cannot contain markup.
 */
export function h(spec, ...rest) {
  const [tag, ...classes] = spec.split('.');
  const element = document.createElement(tag);
  if (classes.length > 0) {
    element.className = classes.join(' ');
  }
  const [first] = rest;
  const hasAttributes = first !== null && typeof first === 'object' && !(first instanceof Node) && !Array.isArray(first);
  if (hasAttributes) {
    rest.shift();
    for (const [name, value] of Object.entries(first)) {
      if (name.startsWith('on')) {
        element.addEventListener(name.slice(2), value);
      } else if (value === true) {
        element.setAttribute(name, '');
      } else if (value !== false && value !== null && value !== undefined) {
        element.setAttribute(name, value);
      }
    }
  }
  element.append(...children(rest));
  return element;
}

/** Replaces the content of an element. */
export function fill(element, ...content) {
  element.replaceChildren(...children(content));
  return element;
}

/** Sets the text if it differs, because assistive technology announces each change. */
export function say(element, text) {
  const shown = legible(text);
  if (element.textContent !== shown) {
    element.textContent = shown;
  }
}

const POINTED_MS = 5000;
let pointedAt = -Infinity;
for (const type of ['pointermove', 'pointerdown']) {
  addEventListener(type, () => {
    pointedAt = performance.now();
  }, {capture: true, passive: true});
}

/**
 * Returns whether the user has the focus or the selection in an element, which redrawing it would remove, or has just
 * moved the pointer to its links, which redrawing it could exchange before the click. A pointer at rest does not count.
 */
export function isInUse(element) {
  const selection = getSelection();
  return element.contains(document.activeElement)
      || (!selection.isCollapsed && element.contains(selection.anchorNode))
      || (performance.now() - pointedAt < POINTED_MS && element.matches(':hover') && element.querySelector('a, button') !== null);
}

/**
 * A table in a box that scrolls if it is too wide.
 *
 * @param columns `{name, number}`: `number` is set in columns of digits
 * @param rows arrays of text or nodes
 */
export function table(caption, columns, rows) {
  const align = i => (columns[i].number ? {class: 'number'} : {});
  return h('div.scroll', h('table',
      h('caption.hidden', caption),
      h('thead', h('tr', columns.map((column, i) => h('th', {scope: 'col', ...align(i)}, column.name)))),
      h('tbody', rows.map(row => h('tr', row.map((cell, i) =>
          i === 0 ? h('th', {scope: 'row', ...align(i)}, cell) : h('td', align(i), cell)))))));
}

/** Marks a table whose cells are stacked on narrow screens. */
export function stacked(table) {
  table.classList.add('stacked');
  return table;
}

/** A bar, filled by a share from 0 to 1. */
export function bar(share, kind = '') {
  const filled = h('span');
  filled.style.width = `${Math.min(1, Math.max(0, share)) * 100}%`;
  return h(`span.bar${kind && `.${kind}`}`, {'aria-hidden': 'true'}, filled);
}

function children(content) {
  return content.flat(Infinity)
      .filter(child => child !== null && child !== undefined && child !== false)
      .map(child => (child instanceof Node ? child : document.createTextNode(legible(child))));
}

/** Replaces characters that change the text direction with their codes. Producers can write them in names. */
function legible(text) {
  return String(text).replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
      character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
