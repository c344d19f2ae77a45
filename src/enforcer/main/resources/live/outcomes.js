import {swatch} from './charts.js';
import {h} from './dom.js';
import {count, duration} from './format.js';

/** In the order in which they are stacked. */
export const OUTCOMES = [
  {key: 'ALLOWED', name: 'Allowed', colour: '--allowed'},
  {key: 'QUEUED', name: 'Queued', colour: '--queued'},
  {key: 'DENIED', name: 'Denied', colour: '--denied'},
  {key: 'EXPIRED', name: 'Expired', colour: '--expired'},
];

export function outcome(key) {
  const {name, colour} = OUTCOMES.find(one => one.key === key) ?? {name: key, colour: '--muted'};
  return h('span.outcome', swatch(colour), name);
}

const WORDS = {
  WITHIN_LIMITS: d => (d.limitedBy === null
      ? 'Every limit permits it.'
      : `Within ${d.limitedBy}: ${count(d.remaining)} left of ${count(d.limit)}.`),
  THROTTLED: d => `Permitted, but to be put off by ${duration(d.delayMs)}.`,
  NO_POLICY: () => 'No policy matches it.',
  SETTLED: () => 'A correction of an earlier cost was booked.',
  LIMIT_EXCEEDED: d => `Over ${d.limitedBy}${again(d)}`,
  QUOTA_NOT_AT_HAND: d => `No lease of ${d.limitedBy} arrived in time; the limit itself may be free${again(d)}`,
  COST_NEVER_FITS: d => `It costs more than ${d.limitedBy} can ever give: it must be made smaller.`,
  TOO_LARGE: () => 'Larger than the policy’s max-size: it must be made smaller.',
  IDEMPOTENCY_MISMATCH: () => 'Its id was used for a request with another content: it needs an id of its own.',
  SHARED_LIMIT_REFUND: () => 'It would give back quota that clients share: corrections of a shared limit cannot be negative.',
  SHAPED: d => `Waits in ${d.queue}${place(d)}.`,
  QUEUE_FULL: d => `The queue ${d.queue ?? ''} is full, and nothing of a lower priority waits in it${again(d)}`,
  TOO_LATE: d => `Its turn in ${d.queue ?? 'the queue'} would come too late${again(d)}`,
  EVICTED: d => `It gave way in ${d.queue ?? 'the queue'} to one of a higher priority.`,
  WAITED_TOO_LONG: d => `It waited in ${d.queue ?? 'the queue'} until it was useless.`,
  CANCELLED: () => 'It was withdrawn.',
  NOT_WAITING: () => 'There was nothing to withdraw: it does not wait.',
  NO_QUEUE: () => 'The policy’s queue does not exist.',
  NO_QUEUE_KEY: d => `The queue ${d.queue ?? ''} is keyed by ${d.limitedBy}, which the request lacks.`,
};

/** Why a decision is what it is, in a sentence. */
export function why(decision) {
  const words = WORDS[decision.reason]?.(decision) ?? `${decision.reason}.`;
  const notes = [
    decision.observed && 'Only observed: it passed.',
    decision.shadowBanned && 'Shadow-banned: it was told that all is well.',
    decision.repeated && 'A repetition: the first decision again.',
  ];
  return [words, ...notes.filter(Boolean)].join(' ');
}

function again({outcome, retryAfterMs}) {
  return outcome !== 'DENIED' ? '.'
      : retryAfterMs === null ? ': it never passes.'
      : `: passes in ${duration(retryAfterMs)} if nothing else comes.`;
}

function place({position, expectedWaitMs}) {
  return (position === null ? '' : ` at position ${count(position)}`)
      + (expectedWaitMs === null ? '' : `, about ${duration(expectedWaitMs)}`);
}
