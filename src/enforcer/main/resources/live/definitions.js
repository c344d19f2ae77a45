import {ask, askJson} from './api.js';

const PATHS = {policy: 'policies', queue: 'queues'};
const PAGE = 1000;
const MOST = 5000;
const WRAPPING_LINES = 2;
const YAML = 'application/yaml';
const QUOTED = /^(\s*(?:- )*(?:[\w.-]+: )?)"([A-Za-z][\w./-]*|[1-9][0-9]*(?:ms|s|m|h|d))"$/;
const NO_STRINGS = /^(true|false|yes|no|on|off|y|n|null)$/i;

/** All that are in force, `{all, more}`: `more` says that there are more than are listed. */
export async function list(kind) {
  const all = [];
  let after = null;
  do {
    const query = new URLSearchParams({limit: PAGE, ...(after === null ? {} : {after})});
    const page = await askJson(`/v1/${PATHS[kind]}?${query}`);
    all.push(...page[PATHS[kind]]);
    after = page.next;
  } while (after !== null && all.length < MOST);
  return {all, more: after !== null};
}

/** What is in force: `{text, version, appliedAt, tag}`; `text` is null of a queue that was deleted and drains. */
export async function read(kind, id) {
  const response = await ask(path(kind, id), {headers: {Accept: YAML}});
  return {...parts(await response.text()), tag: response.headers.get('ETag')};
}

/** Newest first, `{text, version, appliedAt, author, reason}` each; `text` is null where it was deleted. */
export async function history(kind, id) {
  const text = await (await ask(`${path(kind, id)}/history`, {headers: {Accept: YAML}})).text();
  return text.split(/^- /m).slice(1).map(version => parts(`  ${version}`));
}

/** @param tag of the version that is changed, null for one that is new */
export async function put(kind, id, text, tag) {
  const condition = tag === null ? {'If-None-Match': '*'} : {'If-Match': tag};
  return askJson(path(kind, id), {method: 'PUT', headers: {'Content-Type': YAML, ...condition}, body: text});
}

/** What it would change. */
export async function validate(kind, text, signal) {
  return (await post('/v1/validate', kind, text, signal)).changes;
}

/** What it would have done to the last minutes. */
export async function backtest(kind, text, minutes) {
  return post(`/v1/backtest?minutes=${minutes}`, kind, text);
}

async function post(path, kind, text, signal) {
  try {
    return await askJson(path, {method: 'POST', headers: {'Content-Type': YAML}, body: file(kind, text), signal});
  } catch (e) {
    e.faults = e.faults?.map(fault => ({
      ...fault,
      line: Math.max(1, fault.line - WRAPPING_LINES),
      path: fault.path.replace(/^(policies|queues)\[0]\.?/, ''),
    }));
    throw e;
  }
}

/** A policy file with nothing else in it. */
function file(kind, text) {
  return `${PATHS[kind]}:\n-\n${text.replace(/^(?=.)/gm, '  ')}\n`;
}

function path(kind, id) {
  return `/v1/${PATHS[kind]}/${encodeURIComponent(id)}`;
}

/** Of what the service writes: `definition` and all that is further in than it. */
function parts(yaml) {
  const lines = yaml.split('\n');
  const start = lines.findIndex(line => /^ *definition:/.test(line));
  const margin = lines[start].search(/\S/);
  const isIn = line => line.trim() === '' || line.search(/\S/) > margin;
  const rest = lines.slice(start + 1);
  const end = rest.findIndex(line => !isIn(line));
  const body = rest.slice(0, end < 0 ? undefined : end).map(line => legible(line.slice(margin + 2)));
  const number = name => Number(yaml.match(new RegExp(`^ *${name}: ([0-9]+)`, 'm'))?.[1]);
  return {
    text: / null$/.test(lines[start]) ? null : `${body.join('\n').trimEnd()}\n`,
    version: number('version'),
    appliedAt: number('appliedAt'),
    author: word(yaml, 'author'),
    reason: word(yaml, 'reason'),
  };
}

/** A text of one line, null if there is none. */
function word(yaml, name) {
  const value = yaml.match(new RegExp(`^ *${name}: (.*)$`, 'm'))?.[1];
  if (value === undefined || value === 'null') {
    return null;
  }
  return value.startsWith("'") ? value.slice(1, -1).replaceAll("''", "'")
      : value.startsWith('"') ? JSON.parse(value)
      : value;
}

/** Without the quotes that are not needed. */
function legible(line) {
  return line.replace(QUOTED, (all, before, word) => (NO_STRINGS.test(word) ? all : before + word));
}
