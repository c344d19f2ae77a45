import {ask, askJson} from './api.js';

const PATHS = {policy: 'policies', queue: 'queues'};
const PAGE = 1000;
const MOST = 5000;
const WRAPPING_LINES = 2;
const YAML = 'application/yaml';
const QUOTED = /^(\s*(?:- )*(?:[\w.-]+: )?)"([A-Za-z][\w./-]*|[1-9][0-9]*(?:ms|s|m|h|d))"$/;
const NO_STRINGS = /^(true|false|yes|no|on|off|y|n|null)$/i;

/** Returns the definitions in force, `{all, more}`; `more` is true if there are more than are returned. */
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

/** Returns the definition in force, `{text, version, appliedAt, tag}`; `text` is null for a deleted queue. */
export async function read(kind, id) {
  const response = await ask(path(kind, id), {headers: {Accept: YAML}});
  return {...parts(await response.text()), tag: response.headers.get('ETag')};
}

/** Returns the versions, newest first: `{text, version, appliedAt, author, reason}`; `text` is null for a deletion. */
export async function history(kind, id) {
  const text = await (await ask(`${path(kind, id)}/history`, {headers: {Accept: YAML}})).text();
  return text.split(/^- /m).slice(1).map(version => parts(`  ${version}`));
}

/**
 * @param tag the ETag of the version to change, null for a new definition
 * @param authorship headers with the author and the reason
 */
export async function put(kind, id, text, tag, authorship) {
  const condition = tag === null ? {'If-None-Match': '*'} : {'If-Match': tag};
  return askJson(path(kind, id), {method: 'PUT', headers: {'Content-Type': YAML, ...condition, ...authorship}, body: text});
}

/** Deletes a version. The other parameters are those of `put`. */
export async function remove(kind, id, tag, authorship) {
  await ask(path(kind, id), {method: 'DELETE', headers: {'If-Match': tag, ...authorship}});
}

/** Returns the changes that applying the definition would make. */
export async function validate(kind, text, signal) {
  return (await post('/v1/validate', kind, text, signal)).changes;
}

/** Returns how the definition would have decided recent requests. */
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

/** Returns a policy file with only this definition. */
function file(kind, text) {
  return `${PATHS[kind]}:\n-\n${text.replace(/^(?=.)/gm, '  ')}\n`;
}

function path(kind, id) {
  return `/v1/${PATHS[kind]}/${encodeURIComponent(id)}`;
}

/** Extracts the text of `definition`, and the other fields, from the YAML of a response. */
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

/** Returns the text of a field, null if there is none. */
function word(yaml, name) {
  const value = yaml.match(new RegExp(`^ *${name}: (.*)$`, 'm'))?.[1];
  if (value === undefined || value === 'null') {
    return null;
  }
  return value.startsWith("'") ? value.slice(1, -1).replaceAll("''", "'")
      : value.startsWith('"') ? JSON.parse(value)
      : value;
}

/** Removes quotes that are not necessary. */
function legible(line) {
  return line.replace(QUOTED, (all, before, word) => (NO_STRINGS.test(word) ? all : before + word));
}
